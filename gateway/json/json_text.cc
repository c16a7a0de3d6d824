#include "gateway/json/json_text.h"

#include <boost/json/basic_parser_impl.hpp>
#include <boost/json/monotonic_resource.hpp>
#include <boost/json/value.hpp>
#include <boost/json/value_stack.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "config/base/status.h"
#include "gateway/json/valid_text.h"

namespace inferd::gateway {
namespace {

namespace json = boost::json;
using boost::system::error_code;

// The names of the objects that are open, each object's behind those of the one that it is in.
class OpenNames {
 public:
  void BeginObject() { objects_.push_back({names_.size(), text_.size(), nullptr}); }
  void EndObject() {
    names_.resize(objects_.back().first_name);
    text_.resize(objects_.back().text_begin);
    objects_.pop_back();
  }
  // False: the object that began last has this name already.
  bool Add(std::string_view name) {
    Object& object = objects_.back();
    if (object.many != nullptr) return object.many->emplace(name).second;
    for (size_t i = object.first_name; i < names_.size(); ++i) {
      if (std::string_view(text_).substr(names_[i].begin, names_[i].size) == name) return false;
    }
    names_.push_back({text_.size(), name.size()});
    text_ += name;
    if (names_.size() - object.first_name > kFewNames) {
      object.many = std::make_unique<absl::flat_hash_set<std::string>>();
      for (size_t i = object.first_name; i < names_.size(); ++i) {
        object.many->emplace(text_, names_[i].begin, names_[i].size);
      }
    }
    return true;
  }

 private:
  static constexpr size_t kFewNames = 16;  // which are compared one by one
  struct Name {
    size_t begin, size;
  };
  struct Object {
    size_t first_name, text_begin;
    std::unique_ptr<absl::flat_hash_set<std::string>> many;
  };
  std::vector<Object> objects_;
  std::vector<Name> names_;
  std::string text_;
};

// Builds the document like json::parser does, and stops at the second key of one name in an object.
class CheckedHandler {
 public:
  static constexpr size_t max_object_size = static_cast<size_t>(-1) / 64;
  static constexpr size_t max_array_size = static_cast<size_t>(-1) / 64;
  static constexpr size_t max_key_size = 64 * 1024;
  static constexpr size_t max_string_size = json::string::max_size();

  const std::string& duplicate() const { return duplicate_; }
  json::value Release() { return stack_.release(); }
  // The document's memory is taken in large pieces, and given back at once.
  void Begin() { stack_.reset(json::make_shared_resource<json::monotonic_resource>()); }

  bool on_document_begin(error_code&) { return true; }
  bool on_document_end(error_code&) { return true; }
  bool on_array_begin(error_code&) { return true; }
  bool on_array_end(size_t count, error_code&) {
    stack_.push_array(count);
    return true;
  }
  bool on_object_begin(error_code&) {
    names_.BeginObject();
    return true;
  }
  bool on_object_end(size_t count, error_code&) {
    names_.EndObject();
    stack_.push_object(count);
    return true;
  }
  bool on_string_part(json::string_view part, size_t, error_code&) {
    stack_.push_chars(part);
    return true;
  }
  bool on_string(json::string_view part, size_t, error_code&) {
    stack_.push_string(part);
    return true;
  }
  bool on_key_part(json::string_view part, size_t, error_code&) {
    key_.append(part.data(), part.size());
    stack_.push_chars(part);
    return true;
  }
  bool on_key(json::string_view part, size_t, error_code& error) {
    std::string_view name(part.data(), part.size());
    if (!key_.empty()) name = key_.append(name);
    if (!names_.Add(name)) {
      duplicate_ = name;
      error = json::error::syntax;
      return false;
    }
    key_.clear();
    stack_.push_key(part);
    return true;
  }
  bool on_number_part(json::string_view, error_code&) { return true; }
  bool on_int64(int64_t value, json::string_view, error_code&) {
    stack_.push_int64(value);
    return true;
  }
  bool on_uint64(uint64_t value, json::string_view, error_code&) {
    stack_.push_uint64(value);
    return true;
  }
  bool on_double(double value, json::string_view, error_code&) {
    stack_.push_double(value);
    return true;
  }
  bool on_bool(bool value, error_code&) {
    stack_.push_bool(value);
    return true;
  }
  bool on_null(error_code&) {
    stack_.push_null();
    return true;
  }
  bool on_comment_part(json::string_view, error_code&) { return true; }
  bool on_comment(json::string_view, error_code&) { return true; }

 private:
  json::value_stack stack_;
  std::string key_;
  std::string duplicate_;
  OpenNames names_;
};

}  // namespace

absl::StatusOr<json::object> ParseJsonObject(std::string_view text) {
  // RFC 8259 section 8.1: a byte order mark may be ignored.
  if (constexpr std::string_view kMark = "\xEF\xBB\xBF"; text.starts_with(kMark)) text.remove_prefix(kMark.size());
  json::parse_options options;
  options.max_depth = kMaxJsonDepth;
  json::basic_parser<CheckedHandler> parser(options);
  CheckedHandler& handler = parser.handler();
  handler.Begin();
  error_code error;
  size_t taken = parser.write_some(false, text.data(), text.size(), error);
  if (!handler.duplicate().empty()) {
    return InvalidArgument("the body is not valid JSON: the name \"{}\" is given twice in one object",
                           ValidText(handler.duplicate(), 64));
  }
  if (error == json::error::too_deep) {
    return InvalidArgument("the body is not valid JSON: nested deeper than {} levels", kMaxJsonDepth);
  }
  if (!error && taken < text.size()) error = json::error::extra_data;
  if (error) return InvalidArgument("the body is not valid JSON: {} at byte {}", error.message(), taken);
  json::value document = handler.Release();
  if (!document.is_object()) return InvalidArgument("the body must be a JSON object");
  return std::move(document.as_object());
}

}  // namespace inferd::gateway
