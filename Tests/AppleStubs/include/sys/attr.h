#pragma once

#include <sys/types.h>

#define ATTR_BIT_MAP_COUNT 5
#define ATTR_CMN_NAME 0x00000001
#define ATTR_CMN_OBJTYPE 0x00000008
#define ATTR_CMN_RETURNED_ATTRS 0x80000000

typedef uint32_t attrgroup_t;
typedef uint32_t fsobj_type_t;

struct attrlist {
    u_short bitmapcount;
    uint16_t reserved;
    attrgroup_t commonattr;
    attrgroup_t volattr;
    attrgroup_t dirattr;
    attrgroup_t fileattr;
    attrgroup_t forkattr;
};

typedef struct attribute_set {
    attrgroup_t commonattr;
    attrgroup_t volattr;
    attrgroup_t dirattr;
    attrgroup_t fileattr;
    attrgroup_t forkattr;
} attribute_set_t;

typedef struct attrreference {
    int32_t attr_dataoffset;
    uint32_t attr_length;
} attrreference_t;
