// HtmlReport: see the header of that name. Everything but times and notes is
// read back from the plan file: the page shows what a device will be given.
#include "compiler/driver/HtmlReport.h"

#include "compiler/serialise/FileWriter.h"
#include "compiler/serialise/PlanReader.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <map>

using namespace llvm;
using namespace stint;
using namespace stint::driver;

static const char *kStyle = R"(
body { font: 15px/1.4 system-ui, sans-serif; margin: 2em auto; max-width: 72em; padding: 0 1em; color: #222 }
h1, h2 { font-weight: 600 } h2 { margin-top: 2em }
table { border-collapse: collapse; font-variant-numeric: tabular-nums }
td, th { padding: .15em .8em .15em 0; text-align: left; vertical-align: top } th { border-bottom: 1px solid #999 }
td.n, th.n { text-align: right } tr:hover td { background: #f3f3f3 }
code { font-size: 90% } svg { background: #fafafa; border: 1px solid #ccc } rect:hover { stroke: #000 }
)";

namespace {

/// From the first to the last dispatch or copy that touches a buffer.
struct Lifetime {
  size_t first = SIZE_MAX, last = 0;
  std::string maker;
};

class Page {
public:
  Page(const serialise::PlanContents &contents, const Options &options, Result &result, raw_ostream &os)
      : plan(contents.plan), contents(contents), options(options), result(result), os(os) {}

  void print() {
    os << "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>" << escaped(plan.model)
       << "</title><style>" << kStyle << "</style></head><body>\n<h1>" << escaped(plan.model) << "</h1>\n";
    os << formatv("<p>{0} from <code>{1}</code>, made by {2} for {3}. {4} kernels in {5} dispatches.</p>\n",
                  readableBytes(contents.header.file_size), escaped(options.input), escaped(plan.producer),
                  escaped(options.targets), plan.kernels.size(), result.dispatches);
    printNotes();
    printMemory();
    for (const auto &entry : plan.entries)
      printEntry(*entry);
    printKernels();
    printWeights();
    printTimes();
    os << "</body></html>\n";
  }

private:
  static std::string escaped(StringRef text) {
    std::string result;
    raw_string_ostream stream(result);
    printHTMLEscaped(text, stream);
    return stream.str();
  }

  /// Opens a table; a heading that begins with '#' is of numbers.
  void beginTable(ArrayRef<StringRef> headings) {
    os << "<table><tr>";
    for (StringRef heading : headings)
      os << (heading.consume_front("#") ? "<th class=\"n\">" : "<th>") << escaped(heading) << "</th>";
    os << "</tr>\n";
  }
  static std::string cell(StringRef text) { return "<td>" + escaped(text) + "</td>"; }
  static std::string number(uint64_t value) { return "<td class=\"n\">" + std::to_string(value) + "</td>"; }

  void printNotes() {
    if (result.notes.empty() && !result.sharedWeights)
      return;
    os << "<ul>\n";
    for (const std::string &note : result.notes)
      os << "<li>" << escaped(note) << "</li>\n";
    if (result.sharedWeights)
      os << "<li>equal weights stored once: " << readableBytes(result.sharedWeights) << " saved</li>\n";
    os << "</ul>\n";
  }

  void printMemory() {
    std::string text;
    raw_string_ostream stream(text);
    result.ram.print(stream);
    os << "<h2>Memory</h2>\n<pre>" << escaped(stream.str()) << "</pre>\n";
    if (result.ram.lowerBound)
      os << formatv("<p>The arena is {0:f3} times its lower bound.</p>\n",
                    double(result.ram.arena) / result.ram.lowerBound);
  }

  std::string nodesOf(const plan::DispatchT &dispatch) const {
    std::string text;
    for (uint32_t node : dispatch.nodes)
      text += (text.empty() ? "" : ", ") + plan.nodes[node];
    return text;
  }

  std::string placeOf(const plan::EntryT &entry, uint32_t number) const {
    const plan::Buffer &buffer = entry.buffers[number];
    if (buffer.kind() == plan::BufferKind::output)
      return "output " + entry.outputs[buffer.index()]->name;
    if (buffer.kind() == plan::BufferKind::input)
      return "input " + entry.inputs[buffer.index()]->name;
    if (buffer.kind() == plan::BufferKind::weight)
      return "weight " + plan.weights[buffer.index()]->name;
    if (entry.profiles.empty())
      return "arena";
    const plan::ProfileT &profile = *entry.profiles[0];
    return formatv("arena {0} + {1}", profile.offsets[number], profile.capacities[number]).str();
  }

  void printEntry(const plan::EntryT &entry) {
    os << "<h2>Entry " << escaped(entry.name) << "</h2>\n";
    std::vector<Lifetime> lifetimes(entry.buffers.size());
    size_t time = 0;
    auto touch = [&](uint32_t buffer) {
      lifetimes[buffer].first = std::min(lifetimes[buffer].first, time);
      lifetimes[buffer].last = time;
    };
    beginTable({"#", "#dispatch", "kernel", "ONNX nodes", "results"});
    for (const plan::Instruction &in : entry.body) {
      if (in.opcode() == plan::Opcode::copy) {
        touch(in.a());
        touch(in.b());
        os << "<tr>" << number(time++) << "<td></td><td>copy</td><td></td>"
           << cell(placeOf(entry, in.b()) + " to " + placeOf(entry, in.a())) << "</tr>\n";
      }
      if (in.opcode() != plan::Opcode::dispatch)
        continue;
      const plan::DispatchT &dispatch = *entry.dispatches[in.a()];
      std::string nodes = nodesOf(dispatch), results;
      for (auto [i, buffer] : enumerate(dispatch.buffers)) {
        touch(buffer);
        if (i < dispatch.buffers.size() - dispatch.result_count)
          continue;
        lifetimes[buffer].maker = nodes;
        results += (results.empty() ? "" : "; ") + placeOf(entry, buffer);
      }
      os << "<tr>" << number(time++) << number(in.a()) << cell(plan.kernels[dispatch.kernel]->name) << cell(nodes)
         << cell(results) << "</tr>\n";
    }
    os << "</table>\n";
    if (!entry.profiles.empty() && entry.profiles[0]->arena_size)
      printArena(entry, lifetimes, time);
  }

  /// A picture of the arena: time to the right, addresses upwards.
  void printArena(const plan::EntryT &entry, ArrayRef<Lifetime> lifetimes, size_t times) {
    constexpr double kWidth = 1000, kHeight = 320;
    const plan::ProfileT &profile = *entry.profiles[0];
    double perTime = kWidth / times, perByte = kHeight / static_cast<double>(profile.arena_size);
    os << "<h3>Arena, " << readableBytes(profile.arena_size) << "</h3>\n"
       << "<p>Dispatches from left to right, addresses upwards; each box is a value.</p>\n"
       << formatv("<svg viewBox=\"0 0 {0} {1}\" width=\"100%\">\n", kWidth, kHeight);
    for (auto [i, lifetime] : enumerate(lifetimes)) {
      if (entry.buffers[i].kind() != plan::BufferKind::arena || lifetime.first == SIZE_MAX)
        continue;
      double bytes = profile.capacities[i];
      os << formatv("<rect x=\"{0:f2}\" y=\"{1:f2}\" width=\"{2:f2}\" height=\"{3:f2}\" fill=\"hsl({4},55%,70%)\">"
                    "<title>{5}: {6} at {7}, dispatches {8} to {9}</title></rect>\n",
                    lifetime.first * perTime, kHeight - (profile.offsets[i] + bytes) * perByte,
                    (lifetime.last - lifetime.first + 1) * perTime, bytes * perByte, i * 47 % 360,
                    escaped(lifetime.maker), readableBytes(profile.capacities[i]), profile.offsets[i], lifetime.first,
                    lifetime.last);
    }
    os << "</svg>\n";
  }

  /// Bytes of each kernel in a variant: up to where the next one begins. Read-
  /// only data after the last kernel counts for it.
  std::vector<uint64_t> codeSizes(const plan::VariantT &variant) const {
    std::map<uint64_t, uint64_t> ends; // begin to end
    for (uint64_t begin : variant.entries)
      ends[begin] = contents.sections[variant.section].size;
    for (auto i = ends.begin(); i != ends.end(); ++i)
      if (auto next = std::next(i); next != ends.end())
        i->second = next->first;
    std::vector<uint64_t> sizes;
    for (uint64_t begin : variant.entries)
      sizes.push_back(ends[begin] - begin);
    return sizes;
  }

  void printKernels() {
    std::vector<uint64_t> uses(plan.kernels.size());
    for (const auto &entry : plan.entries)
      for (const auto &dispatch : entry->dispatches)
        ++uses[dispatch->kernel];
    os << "<h2>Code</h2>\n<p>Bytes of machine code for every variant.</p>\n";
    std::vector<std::string> headings = {"kernel", "#dispatches"};
    std::vector<std::vector<uint64_t>> sizes;
    for (const auto &variant : plan.variants) {
      headings.push_back("#" + variant->name);
      sizes.push_back(codeSizes(*variant));
    }
    beginTable(map_to_vector(headings, [](const std::string &heading) { return StringRef(heading); }));
    for (auto [i, kernel] : enumerate(plan.kernels)) {
      os << "<tr>" << cell(kernel->name) << number(uses[i]);
      for (const std::vector<uint64_t> &size : sizes)
        os << number(i < size.size() ? size[i] : 0);
      os << "</tr>\n";
    }
    os << "<tr><th>section</th><th></th>";
    for (const auto &variant : plan.variants)
      os << "<th class=\"n\">" << contents.sections[variant->section].size << "</th>";
    os << "</tr>\n<tr><td>scratch a thread</td><td></td>";
    for (const auto &variant : plan.variants)
      os << number(variant->scratch);
    os << "</tr></table>\n";
  }

  void printWeights() {
    os << "<h2>Weights</h2>\n";
    beginTable({"name", "type", "layout", "#bytes", "section", "#offset"});
    for (const auto &weight : plan.weights)
      os << "<tr>" << cell(weight->name) << cell(plan::EnumNameElementType(weight->type)) << cell(weight->layout)
         << number(weight->size)
         << cell(contents.sections[weight->section].kind == STINT_SECTION_WEIGHTS ? "weights" : "constants")
         << number(weight->offset) << "</tr>\n";
    os << "</table>\n";
  }

  void printTimes() {
    std::string text;
    raw_string_ostream stream(text);
    result.time.print(stream);
    os << "<h2>Time to compile</h2>\n<pre>" << escaped(stream.str()) << "</pre>\n";
  }

  const plan::PlanT &plan;
  const serialise::PlanContents &contents;
  const Options &options;
  Result &result;
  raw_ostream &os;
};

} // namespace

Error driver::writeHtmlReport(StringRef path, const Options &options, Result &result) {
  auto contents = serialise::readPlan(options.output);
  if (!contents)
    return contents.takeError();
  std::string text;
  raw_string_ostream os(text);
  Page(**contents, options, result, os).print();
  return serialise::writeFile(path, arrayRefFromStringRef(os.str()));
}
