#include "CSluiceRequirements.h"
