// How fast JSON bodies of ten megabytes are parsed, and how much memory for each of their bytes that takes at its peak,
// beside what is counted for it:
//   ninja json_bench && gateway/json_bench
// The best of five runs, of the processor's time.
// Exceptions of the standard library.
#include <fmt/format.h>
#include <malloc.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "gateway/json/json_memory.h"
#include "gateway/json/json_text.h"

namespace {

size_t held = 0, peak = 0;

}  // namespace

void* operator new(size_t bytes) {
  void* const memory = std::malloc(bytes);
  if (memory == nullptr) throw std::bad_alloc();
  held += malloc_usable_size(memory);
  peak = std::max(peak, held);
  return memory;
}
void operator delete(void* memory) noexcept {
  if (memory != nullptr) held -= malloc_usable_size(memory);
  std::free(memory);
}
void operator delete(void* memory, size_t) noexcept { operator delete(memory); }

namespace inferd::gateway {
namespace {

double Seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

constexpr size_t kBytes = 10 << 20;

std::string Repeated(const std::string& head, const std::string& part, const std::string& tail) {
  std::string text = head;
  while (text.size() < kBytes) text += part;
  return text + tail;
}

void Measure(const std::string& name, const std::string& text) {
  double best = 1e30;
  size_t most = 0;
  for (int run = 0; run < 5; ++run) {
    const size_t before = held;
    peak = held;
    const double begin = Seconds();
    const bool good = ParseJsonObject(text).ok();
    best = std::min(best, Seconds() - begin);
    most = std::max(most, peak - before);
    if (!good) fmt::print(stderr, "{}: is not valid\n", name);
  }
  const double begin = Seconds();
  const uint64_t counted = MostJsonMemory(text);
  const double counting = Seconds() - begin;
  const auto size = static_cast<double>(text.size());
  fmt::print("{:<28} {:>7.0f} MB/s   {:>6.1f} bytes a byte, counted {:>6.1f} ({:.1f} ms)\n", name, size * 1e-6 / best,
             static_cast<double>(most) / size, static_cast<double>(counted) / size, counting * 1e3);
}

void Run() {
  Measure("one text", Repeated("{\"prompt\":\"", "The sea is wide. ", "\"}"));
  Measure("one text with escapes", Repeated("{\"prompt\":\"", "The\\nsea \\\"is\\\" wide.", "\"}"));
  Measure("one text beyond ASCII", Repeated("{\"prompt\":\"", "海は広い。", "\"}"));
  Measure("messages", Repeated("{\"messages\":[",
                               "{\"role\":\"user\",\"content\":\"How wide is the sea, and how deep?\"},", "{}]}"));
  Measure("token ids", Repeated("{\"prompt\":[", "12345,", "1]}"));
  Measure("short numbers", Repeated("{\"prompt\":[", "1,", "1]}"));
  Measure("fractions", Repeated("{\"prompt\":[", "-0.12345,", "1]}"));
  Measure("empty lists", Repeated("{\"prompt\":[", "[],", "1]}"));
  Measure("empty objects", Repeated("{\"prompt\":[", "{},", "1]}"));
  Measure("spaces", Repeated("{", "    ", "}"));
  std::string names = "{";
  for (int i = 0; names.size() < kBytes; ++i) names += fmt::format("\"k{}\":1,", i);
  Measure("names", names + "\"z\":1}");
}

}  // namespace
}  // namespace inferd::gateway

int main() { inferd::gateway::Run(); }
