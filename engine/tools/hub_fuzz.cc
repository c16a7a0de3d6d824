// Any bytes as the hub's list of files: an error, or files of the model that was asked for, whose names stay in the
// folder that they are written to.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "engine/tools/model_source.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  for (const char* source : {"hf:a/b", "hf:a/b:q4"}) {
    const auto parsed = inferd::tools::ParseSource(source);
    if (!parsed.ok()) std::abort();
    const auto files = inferd::tools::FilesOfListing(*parsed, "https://hub.example", text);
    if (!files.ok()) continue;
    if (files->empty()) std::abort();
    for (const inferd::tools::RemoteFile& file : *files) {
      const bool leaves = file.name.find('/') != file.name.npos || file.name == "." || file.name == "..";
      if (file.name.empty() || leaves || !file.url.starts_with("https://hub.example/a/b/resolve/main/")) std::abort();
    }
  }
  return 0;
}
