// That the estimate is no less than what parsing takes at its peak: operator new of this program counts.
// Exceptions of the standard library.
#include "gateway/json/json_memory.h"

#include <gtest/gtest.h>
#include <malloc.h>

#include <atomic>
#include <cstdlib>
#include <functional>
#include <new>
#include <random>
#include <string>

#include "gateway/json/json_text.h"

namespace {

std::atomic<size_t> held{0}, peak{0};

void* Counted(size_t bytes) {
  void* const memory = std::malloc(bytes);
  if (memory == nullptr) throw std::bad_alloc();
  const size_t now = held += malloc_usable_size(memory);
  for (size_t seen = peak; now > seen && !peak.compare_exchange_weak(seen, now);) {
  }
  return memory;
}

void Freed(void* memory) {
  if (memory != nullptr) held -= malloc_usable_size(memory);
  std::free(memory);
}

}  // namespace

void* operator new(size_t bytes) { return Counted(bytes); }
void operator delete(void* memory) noexcept { Freed(memory); }
void operator delete(void* memory, size_t) noexcept { Freed(memory); }

namespace inferd::gateway {
namespace {

uint64_t PeakOf(const std::string& text) {
  const size_t before = held;
  peak = before;
  (void)ParseJsonObject(text);
  return peak - before;
}

std::string Repeated(std::string_view head, std::string_view part, size_t bytes, std::string_view tail) {
  std::string text(head);
  while (text.size() < bytes) text += part;
  return text + std::string(tail);
}

TEST(MostJsonMemory, IsEnoughForTextsOfOneKind) {
  std::string names = "{", long_names = "{";
  for (int i = 0; i < 50'000; ++i) {
    names += "\"k" + std::to_string(i) + "\":1,";
    long_names += "\"a name that no small string holds " + std::to_string(i) + "\":1,";
  }
  for (const std::string& text : {
           Repeated("{\"a\":[", "1,", 1 << 20, "1]}"),
           Repeated("{\"a\":[", "{},", 1 << 20, "{}]}"),
           Repeated("{\"a\":[", "[],", 1 << 20, "[]]}"),
           Repeated("{\"a\":[", "[[]],", 1 << 20, "[]]}"),
           Repeated("{\"a\":[", "{\"\":0},", 1 << 20, "{}]}"),
           Repeated("{\"a\":[", "{\"role\":\"user\",\"content\":\"hello there\"},", 1 << 20, "{}]}"),
           Repeated("{\"a\":[", "\"\",", 1 << 20, "\"\"]}"),
           Repeated("{\"a\":[", "\"fifteen letters\",", 1 << 20, "\"\"]}"),
           Repeated("{\"a\":[", "-1.5e3,", 1 << 20, "0]}"),
           Repeated("{\"a\":\"", "x", 1 << 20, "\"}"),
           Repeated("{\"a\":\"", "\\n", 1 << 20, "\"}"),
           Repeated("{\"a\":\"", "\\u00e9", 1 << 20, "\"}"),
           Repeated("{\"", "n", 60'000, "\":1}"),
           Repeated("{", " ", 1 << 20, "}"),
           names + "\"z\":1}",
           long_names + "\"z\":1}",
           std::string("{\"a\":") + std::string(60, '[') + std::string(60, ']') + "}",
           std::string("{}"),
       }) {
    // Of many sizes: buffers grow by doubling.
    for (size_t size = text.size(); size > 100; size = size * 5 / 6) {
      EXPECT_LE(PeakOf(text.substr(0, size)), MostJsonMemory(text.substr(0, size))) << text.substr(0, 60) << size;
    }
    EXPECT_LE(PeakOf(text), MostJsonMemory(text)) << text.substr(0, 60);
  }
}

// A text of values of all kinds, the deeper the fewer.
void Write(std::mt19937& random, int depth, std::string& text) {
  switch (depth > 20 ? 3 + random() % 4 : random() % 7) {
    case 0:
    case 1: {
      text += '[';
      for (size_t i = random() % 6; i > 0; --i) {
        Write(random, depth + 1, text);
        if (i > 1) text += ',';
      }
      text += ']';
      break;
    }
    case 2: {
      text += '{';
      for (size_t i = random() % 6; i > 0; --i) {
        text += '"' + std::string(random() % 30, 'k') + std::to_string(random()) + "\":";
        Write(random, depth + 1, text);
        if (i > 1) text += ',';
      }
      text += '}';
      break;
    }
    case 3:
      text += std::to_string(static_cast<int32_t>(random()));
      break;
    case 4:
      text += '"' + std::string(random() % 50, 'v') + '"';
      break;
    case 5:
      text += "null";
      break;
    default:
      text += "0.5";
  }
}

TEST(MostJsonMemory, IsEnoughForRandomTextsAndNotAbsurd) {
  std::mt19937 random(5);
  uint64_t taken = 0, counted = 0;
  for (int round = 0; round < 300; ++round) {
    std::string text = "{\"a\":[";
    while (text.size() < 20'000 + static_cast<size_t>(round) * 50) {
      Write(random, 0, text);
      text += ',';
    }
    text += "0]}";
    if (round % 3 == 0) text.resize(text.size() / 2);
    const uint64_t peak_bytes = PeakOf(text), most = MostJsonMemory(text);
    EXPECT_LE(peak_bytes, most) << round;
    taken += peak_bytes;
    counted += most;
  }
  EXPECT_LT(counted, 10 * taken);
}

}  // namespace
}  // namespace inferd::gateway
