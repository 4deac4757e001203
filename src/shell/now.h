/* now.h - the time that all of the shell and the links is measured by; on any thread. */
#ifndef ZKL_NOW_H
#define ZKL_NOW_H

#include "../core/clock.h"

zkl_time zkl_now(void);
zkl_time zkl_due(zkl_time timeout); /* that time from now; ZKL_NEVER stays */

#endif
