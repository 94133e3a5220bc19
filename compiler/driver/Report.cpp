// Report: see the header of that name.
#include "compiler/driver/Report.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;
using namespace stint::driver;

std::string stint::driver::readableBytes(uint64_t bytes) {
  if (bytes < 10000)
    return std::to_string(bytes) + " B";
  if (bytes < 10000ull << 10)
    return formatv("{0:f1} KiB", bytes / 1024.0).str();
  if (bytes < 10000ull << 20)
    return formatv("{0:f1} MiB", bytes / 1048576.0).str();
  if (bytes < 10000ull << 30)
    return formatv("{0:f1} GiB", bytes / 1073741824.0).str();
  return formatv("{0:f1} TiB", bytes / 1099511627776.0).str();
}

void RamContract::print(raw_ostream &os) const {
  auto line = [&](StringRef what, uint64_t bytes, StringRef note) {
    os << formatv("  {0,-10} {1,12}  {2}\n", what, readableBytes(bytes), note);
  };
  os << "memory at the largest shapes, one session and one thread:\n";
  line("arena", arena, "activations; lower bound " + readableBytes(lowerBound));
  line("ports", ports, "inputs and outputs, unless bound by the application");
  line("scratch", scratch, "each thread");
  line("state", state, "kept between runs");
  line("plan", plan, "");
  line("code", code, "largest variant");
  line("constants", constants, "");
  if (text)
    line("text", text, "tokenizer and chat template");
  line("committed", committed(), "and " + readableBytes(stack) + " of stack for each further thread");
  line("weights", weights, "mapped from the file");
  line("resident", resident(), "for full speed");
}

json::Object RamContract::json() const {
  auto number = [](uint64_t value) { return static_cast<int64_t>(value); };
  return json::Object{{"arena", number(arena)},         {"lower_bound", number(lowerBound)},
                      {"ports", number(ports)},         {"scratch", number(scratch)},
                      {"state", number(state)},         {"stack", number(stack)},
                      {"plan", number(plan)},           {"code", number(code)},
                      {"constants", number(constants)}, {"text", number(text)},
                      {"weights", number(weights)},     {"committed", number(committed())},
                      {"resident", number(resident())}};
}

void Stopwatch::stop() {
  if (running != SIZE_MAX)
    rows[running].seconds += std::chrono::duration<double>(Clock::now() - begin).count();
  running = SIZE_MAX;
}

void Stopwatch::stage(StringRef name) {
  stop();
  auto found = llvm::find_if(rows, [&](const Row &row) { return !row.isDetail && row.name == name; });
  running = found - rows.begin();
  if (found == rows.end())
    rows.push_back({name.str()});
  begin = Clock::now();
}

void Stopwatch::detail(StringRef name, double seconds) { rows.push_back({name.str(), seconds, true}); }

void Stopwatch::print(raw_ostream &os) {
  stop();
  double total = 0;
  for (const Row &row : rows)
    total += row.isDetail ? 0 : row.seconds;
  for (const Row &row : rows) {
    os << formatv("  {0,-28} {1,9:f1} ms", (row.isDetail ? "  " : "") + row.name, row.seconds * 1e3);
    if (!row.isDetail)
      os << formatv(" {0,5:f1} %", total ? row.seconds / total * 100 : 0);
    os << "\n";
  }
  os << formatv("  {0,-28} {1,9:f1} ms\n", "total", total * 1e3);
}

json::Object Stopwatch::json() {
  stop();
  json::Object object;
  for (const Row &row : rows)
    object[row.name] = row.seconds;
  return object;
}
