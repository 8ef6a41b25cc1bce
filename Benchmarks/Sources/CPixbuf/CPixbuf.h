// gdk-pixbuf, for the peer of the rows images/.
#pragma once

#include <gdk-pixbuf/gdk-pixbuf.h>
