// Version numbers of everything that crosses from the compiler to the runtime.
//
// Included by both sides; depends on nothing. Changing a number here is a
// format change: add a line to docs/plan-format.md, section "Versions".
#ifndef STINT_SCHEMA_VERSION_H
#define STINT_SCHEMA_VERSION_H

// Version of the program as a whole, as printed by --version.
#define STINT_VERSION_STRING "0.1.0"

// A runtime loads a plan with an equal major and any minor; what an older
// runtime could not survive is announced by a must-understand feature bit.
#define STINT_PLAN_FORMAT_MAJOR 1
#define STINT_PLAN_FORMAT_MINOR 3

// Version of kernel_abi.h that a variant's machine code was compiled against.
#define STINT_KERNEL_ABI_VERSION 1

// Must-understand feature bits (header field `features`). None yet: a plan
// with a bit set that the runtime does not know is refused.
#define STINT_PLAN_KNOWN_FEATURES 0ull

#endif
