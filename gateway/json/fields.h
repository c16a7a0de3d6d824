// Typed reading of a request's JSON fields. Every known field that is read is checked; whatever is left over at the end
// was unknown and is named in the response's `warnings`. An object inside is read by Fields that come from its
// parent's, and reports what was left over there when it is destroyed: at every depth, with the whole path.
//
//   Fields fields(std::move(object));
//   ASSIGN_OR_RETURN(std::optional<double> top_p, fields.Number("top_p", {.above = 0, .most = 1}));
//   ASSIGN_OR_RETURN(std::optional<int64_t> n, fields.Integer("n", 1, 128));
//   { Fields options = fields.Within(object, "stream_options"); ... }
//   std::vector<std::string> warnings = fields.Warnings();
//
// A field that is null is as absent. Errors are INVALID_ARGUMENT "<field>: <value> ... expected ...".
#pragma once

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"

namespace inferd::gateway {

// Bounds of a number: above < value, least <= value <= most.
struct Bounds {
  double least = -std::numeric_limits<double>::max();
  double most = std::numeric_limits<double>::max();
  double above = -std::numeric_limits<double>::infinity();
};

class Fields {
 public:
  // Of the request itself.
  explicit Fields(boost::json::object object);
  Fields(Fields&&) = default;
  Fields& operator=(Fields&&) = delete;
  ~Fields();
  // Of an object at `path`, such as "messages[3]". To be destroyed before Warnings() is asked for.
  Fields Within(boost::json::object object, std::string_view path) const;

  absl::StatusOr<std::optional<double>> Number(std::string_view name, Bounds bounds = {});
  // A whole number; 3.0 counts as 3.
  absl::StatusOr<std::optional<int64_t>> Integer(std::string_view name, int64_t least, int64_t most);
  absl::StatusOr<std::optional<bool>> Boolean(std::string_view name);
  // At most `most` bytes.
  absl::StatusOr<std::optional<std::string>> String(std::string_view name, size_t most);
  // At most `most` texts of 1 to `most_bytes` bytes each; none if it is absent.
  absl::StatusOr<std::vector<std::string>> Strings(std::string_view name, size_t most, size_t most_bytes);
  absl::StatusOr<std::optional<boost::json::object>> Object(std::string_view name);

  // The value as it is (null counts as absent), marked as known.
  const boost::json::value* Raw(std::string_view name);
  // Marks a field as known that has no effect here.
  void Ignore(std::string_view name);

  // The same, and still unknown.
  const boost::json::value* Peek(std::string_view name) const;
  // Names of the fields here that are not known so far; those that are null ask for nothing.
  std::vector<std::string> Unknown() const;

  // "unknown field 'x' was ignored", for at most 16 fields here and in the objects within.
  std::vector<std::string> Warnings() const;

  std::string PathOf(std::string_view name) const { return prefix_ + std::string(name); }

 private:
  void AddUnknown(std::vector<std::string>& warnings) const;
  absl::Status WrongType(std::string_view name, const boost::json::value& value, std::string_view expected) const;

  boost::json::object object_;
  std::string prefix_;
  absl::flat_hash_set<std::string> known_;
  // Of all objects within the request that are read; null once moved from.
  std::shared_ptr<std::vector<std::string>> warnings_;
};

// "a number", "a string", ...: how errors call a value.
std::string_view TypeName(const boost::json::value& value);

// Compact text of a value, cut to 40 bytes, for error messages.
std::string Shown(const boost::json::value& value);

// The whole number that `value` is, if it is one.
std::optional<int64_t> AsInteger(const boost::json::value& value);

}  // namespace inferd::gateway
