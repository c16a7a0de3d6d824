// How fast a model's tokenizer reads a text, one thread, and writes it back:
//   ninja tokenizer_bench && tests/bench/tokenizer/tokenizer_bench TEXT.txt MODEL.gguf ...
// The best of five runs, of the thread's own time. Goal: 10 MB/s of English.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "config/base/status.h"
#include "engine/gguf/gguf_file.h"
#include "engine/tokenizer/tokenizer.h"
#include "tests/bench/thread_time.h"

namespace inferd::tokenizer {
namespace {

absl::Status Measure(const std::string& text, const std::string& path) {
  ASSIGN_OR_RETURN(const auto file, gguf::GgufFile::Open(path));
  ASSIGN_OR_RETURN(const std::unique_ptr<Tokenizer> tokenizer, Tokenizer::Create(*file));
  double encode = 1e30, decode = 1e30;
  size_t tokens = 0;
  for (int run = 0; run < 5; ++run) {
    const double begin = ThreadSeconds();
    ASSIGN_OR_RETURN(const std::vector<int32_t> ids, tokenizer->Encode(text, {}));
    const double middle = ThreadSeconds();
    const std::string back = tokenizer->Decode(ids, /*with_special=*/true);
    encode = std::min(encode, middle - begin);
    decode = std::min(decode, ThreadSeconds() - middle);
    tokens = ids.size();
    if (back.empty()) return Internal("{}: no text came back", path);
  }
  const double megabytes = static_cast<double>(text.size()) * 1e-6;
  fmt::print("{:<50} {:>9} tokens  encode {:>6.1f} MB/s  decode {:>6.1f} MB/s\n", path.substr(path.rfind('/') + 1),
             tokens, megabytes / encode, megabytes / decode);
  return absl::OkStatus();
}

}  // namespace
}  // namespace inferd::tokenizer

int main(int argc, char** argv) {
  if (argc < 3) {
    fmt::print(stderr, "usage: tokenizer_bench TEXT.txt MODEL.gguf ...\n");
    return 2;
  }
  std::ifstream input(argv[1], std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(input)), std::istreambuf_iterator<char>());
  for (int i = 2; i < argc; ++i) {
    const absl::Status status = inferd::tokenizer::Measure(text, argv[i]);
    if (!status.ok()) fmt::print(stderr, "{}\n", inferd::MessageOf(status));
    if (!status.ok()) return 1;
  }
  return 0;
}
