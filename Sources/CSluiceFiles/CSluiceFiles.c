#include "CSluiceFiles.h"
