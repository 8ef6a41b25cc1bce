#pragma once

#define MAXPATHLEN 1024
