/*
 * pin.h - keeps a module in memory after lua_close(), which would unload it.
 */
#ifndef ZKL_PIN_H
#define ZKL_PIN_H

/* Pins the module that this code is linked into. For any thread. */
void zkl_pin_module(void);

#endif
