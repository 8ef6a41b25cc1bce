// Pango and Cairo for NativeMarkCairo. Only the trait Cairo makes a target depend on this one, so other builds don't need the libraries.
#pragma once

#include <cairo-pdf.h>
#include <fontconfig/fontconfig.h>
#include <pango/pangocairo.h>
#include <pango/pangofc-fontmap.h>
