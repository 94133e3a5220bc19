// What a compilation has to say about its result: memory, sizes, time.
#ifndef STINT_COMPILER_DRIVER_REPORT_H
#define STINT_COMPILER_DRIVER_REPORT_H

#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace stint::driver {

/// RAM of one session at the largest shapes, run by one thread, in bytes.
struct RamContract {
  uint64_t arena = 0;      // activations
  uint64_t lowerBound = 0; // what no arena could be smaller than
  uint64_t ports = 0;      // inputs and outputs, unless the application binds its own
  uint64_t scratch = 0;    // a thread, of the variant that needs most
  uint64_t state = 0;      // kept between runs
  uint64_t stack = 0;      // a further thread
  uint64_t plan = 0;       // the plan itself
  uint64_t code = 0;       // of the largest variant
  uint64_t constants = 0;  // constants used as indices
  uint64_t text = 0;       // tokenizer and chat template
  uint64_t weights = 0;    // mapped from the file, not committed

  /// What must be there; `resident` adds the weights, for full speed.
  uint64_t committed() const { return arena + ports + scratch + state + plan + code + constants + text; }
  uint64_t resident() const { return committed() + weights; }

  void print(llvm::raw_ostream &os) const;
  llvm::json::Object json() const;
};

/// Times stages one after the other.
class Stopwatch {
public:
  /// Ends the running stage and begins one; equal names add up.
  void stage(llvm::StringRef name);
  /// A part of the running stage, measured elsewhere: no part of the total.
  void detail(llvm::StringRef name, double seconds);
  void stop();
  void print(llvm::raw_ostream &os);
  llvm::json::Object json();

private:
  using Clock = std::chrono::steady_clock;
  struct Row {
    std::string name;
    double seconds = 0;
    bool isDetail = false;
  };
  std::vector<Row> rows;
  Clock::time_point begin;
  size_t running = SIZE_MAX;
};

/// "1.5 MiB"
std::string readableBytes(uint64_t bytes);

} // namespace stint::driver

#endif
