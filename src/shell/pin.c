/* pin.c - see pin.h. */
#include "pin.h"

#include <dlfcn.h>

void zkl_pin_module(void) {
    static const char inside = 0;
    Dl_info module;
    if (dladdr(&inside, &module) && module.dli_fname)
        dlopen(module.dli_fname, RTLD_NOW | RTLD_NODELETE);
}
