// Stands between the program and the system: the linker's --wrap puts the
// functions of failing.cpp before those of the C library. They count calls,
// make the n-th one fail, and know what has not been given back.
#ifndef STINT_TEST_RUNTIME_FAILING_H
#define STINT_TEST_RUNTIME_FAILING_H

namespace stint::test {

enum class Fail { Never, One, AllFrom };

/// Counting begins anew; from now on call number `n` (from 0) fails, or it and
/// all later ones.
void failAt(Fail how, long n);
/// Calls since then.
long systemCalls();
/// Of those, calls for memory: from the allocator or the system.
long memoryCalls();
/// True if a call failed because it should.
bool hasFailed();

/// Blocks, mappings and descriptors that are not given back yet.
long held();

} // namespace stint::test

#endif
