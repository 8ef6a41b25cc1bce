// gdk-pixbuf for SluiceCache. Only the trait GdkPixbuf makes a target depend on this one, so other builds don't need the library.
#pragma once

#include <gdk-pixbuf/gdk-pixbuf.h>
