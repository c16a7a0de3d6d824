// The end of a worker that has used up the memory it may have (memory_limit): an exit code of its own, whatever it was
// that could not be allocated, so that the supervisor can tell it from a fault of the program.
//
//   ExitWhereMemoryEnds();   // first in main
#pragma once

namespace inferd::worker {

// From now on an allocation that fails, and an abort while no more memory is given (threads need stacks, and libraries
// that cannot make one abort), end the process with kExitOutOfMemory. What is large is given back to the kernel as soon
// as it is freed.
void ExitWhereMemoryEnds();

}  // namespace inferd::worker
