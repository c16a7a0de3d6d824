#include "engine/tools/model_source.h"

#include <algorithm>
#include <boost/json.hpp>
#include <cctype>
#include <filesystem>
#include <map>

#include "config/base/status.h"
#include "engine/gguf/split_name.h"

namespace inferd::tools {
namespace {

namespace json = boost::json;

constexpr std::string_view kHubPrefix = "hf:";

std::string Lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), [](unsigned char c) { return std::tolower(c); });
  return out;
}

// Repository names are put into addresses: letters, digits and . _ - alone.
bool IsRepository(std::string_view text) {
  const auto plain = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '_' || c == '-' || c == '/';
  };
  return std::count(text.begin(), text.end(), '/') == 1 && text.front() != '/' && text.back() != '/' &&
         std::all_of(text.begin(), text.end(), plain) && text.find("..") == std::string_view::npos;
}

// A file's name for its address's last part; INVALID_ARGUMENT if it has none that can be written.
absl::StatusOr<std::string> NameOf(std::string_view url) {
  std::string_view path = url.substr(0, url.find_first_of("?#"));
  const size_t scheme = path.find("://");
  if (scheme != std::string_view::npos) path.remove_prefix(scheme + 3);
  const size_t slash = path.rfind('/');
  const std::string_view name = slash == std::string_view::npos ? "" : path.substr(slash + 1);
  if (name.empty() || name == "." || name == "..")
    return InvalidArgument("{}: names no file, expected .../NAME.gguf", url);
  return std::string(name);
}

// Bytes outside the unreserved set of RFC 3986 as %NN, slashes kept.
std::string PercentEncoded(std::string_view path) {
  std::string out;
  for (const unsigned char c : path) {
    if (std::isalnum(c) || c == '.' || c == '_' || c == '-' || c == '~' || c == '/') {
      out += static_cast<char>(c);
    } else {
      out += fmt::format("%{:02X}", c);
    }
  }
  return out;
}

std::string_view TextAt(const json::object& object, std::string_view key) {
  const json::value* value = object.if_contains(key);
  const json::string* text = value ? value->if_string() : nullptr;
  return text ? std::string_view(text->data(), text->size()) : std::string_view();
}

uint64_t NumberAt(const json::object& object, std::string_view key) {
  const json::value* value = object.if_contains(key);
  return value && value->is_int64() && value->get_int64() > 0 ? static_cast<uint64_t>(value->get_int64()) : 0;
}

// The models of a listing: all parts of one model under the name of its first part.
std::map<std::string, std::vector<RemoteFile>> ModelsIn(const json::array& listing, const std::string& base) {
  std::map<std::string, std::vector<RemoteFile>> models;
  for (const json::value& item : listing) {
    const json::object* entry = item.if_object();
    if (entry == nullptr || TextAt(*entry, "type") != "file") continue;
    const std::string path(TextAt(*entry, "path"));
    if (!Lower(path).ends_with(".gguf")) continue;
    RemoteFile file{.url = base + PercentEncoded(path),
                    .name = std::filesystem::path(path).filename().string(),
                    .bytes = NumberAt(*entry, "size"),
                    .sha256 = {}};
    if (const json::value* lfs = entry->if_contains("lfs"); lfs != nullptr && lfs->is_object()) {
      file.sha256 = TextAt(lfs->get_object(), "oid");
    }
    const auto split = gguf::ParseSplitName(path);
    models[split ? gguf::FormatSplitName({split->prefix, 1, split->count}) : path].push_back(std::move(file));
  }
  return models;
}

std::string ListingUrl(const ModelSource& source, const std::string& hub) {
  return fmt::format("{}/api/models/{}/tree/main?recursive=true", hub, source.location);
}

}  // namespace

absl::StatusOr<std::vector<RemoteFile>> FilesOfListing(const ModelSource& source, const std::string& hub,
                                                       std::string_view text) {
  boost::system::error_code error;
  const json::value listing = json::parse({text.data(), text.size()}, error);
  if (error || !listing.is_array()) return Internal("{}: the answer is no list of files", ListingUrl(source, hub));
  const auto models = ModelsIn(listing.get_array(), fmt::format("{}/{}/resolve/main/", hub, source.location));
  std::string names;
  std::vector<const std::vector<RemoteFile>*> matching;
  for (const auto& [name, files] : models) {
    names += fmt::format("\n  {}", name);
    if (Lower(name).find(Lower(source.quantization)) != std::string::npos) matching.push_back(&files);
  }
  if (matching.empty()) {
    return NotFound("hf:{}: no model file matches '{}'; there are:{}", source.location, source.quantization, names);
  }
  if (matching.size() > 1) {
    return InvalidArgument("hf:{}: {} model files match '{}', expected hf:{}:QUANT for one of:{}", source.location,
                           matching.size(), source.quantization, source.location, names);
  }
  return *matching.front();
}

absl::StatusOr<ModelSource> ParseSource(std::string_view text) {
  if (text.starts_with("http://") || text.starts_with("https://")) {
    return ModelSource{ModelSource::Kind::kUrl, std::string(text), ""};
  }
  if (!text.starts_with(kHubPrefix)) return ModelSource{ModelSource::Kind::kPath, std::string(text), ""};
  text.remove_prefix(kHubPrefix.size());
  const size_t colon = text.find(':');
  const std::string_view repository = text.substr(0, colon);
  if (repository.empty() || !IsRepository(repository)) {
    return InvalidArgument("source hf:{}: expected hf:OWNER/REPOSITORY or hf:OWNER/REPOSITORY:QUANT", text);
  }
  return ModelSource{ModelSource::Kind::kHub, std::string(repository),
                     colon == std::string_view::npos ? "" : std::string(text.substr(colon + 1))};
}

absl::StatusOr<std::vector<RemoteFile>> ResolveSource(const ModelSource& source, const std::string& hub,
                                                      const HttpFetch& http) {
  if (source.kind == ModelSource::Kind::kHub) {
    ASSIGN_OR_RETURN(const std::string text, http.GetText(ListingUrl(source, hub)));
    return FilesOfListing(source, hub, text);
  }
  if (source.kind == ModelSource::Kind::kPath) {
    const std::filesystem::path path(source.location);
    return std::vector<RemoteFile>{{source.location, path.filename().string(), 0, ""}};
  }
  ASSIGN_OR_RETURN(std::string name, NameOf(source.location));
  return std::vector<RemoteFile>{{source.location, std::move(name), 0, ""}};
}

}  // namespace inferd::tools
