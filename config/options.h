// The table of all options: each is named once, with its type, range and help (its default is in config.h). Whatever
// reads, prints or documents the configuration is a visitor of this table.
//
//   class Printer : public OptionVisitor { ... };
//   Printer printer;
//   VisitOptions(config, printer);
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"

namespace inferd::config {

struct Option {
  std::string_view name;
  std::string_view help;
};

// Both ends belong to it. For sizes in bytes, for durations in milliseconds.
struct Range {
  uint64_t min = 0;
  uint64_t max = std::numeric_limits<uint64_t>::max();
};

enum class Presence { kOptional, kRequired };

// A list of sections, as a visitor sees it.
class SectionList {
 public:
  virtual ~SectionList() = default;
  virtual size_t size() const = 0;
  // Adds an element with default values.
  virtual void Append() = 0;
  virtual void Visit(size_t index, class OptionVisitor& visitor) = 0;
};

class OptionVisitor {
 public:
  virtual ~OptionVisitor() = default;

  virtual void Text(const Option& option, std::string& value, Presence presence = Presence::kOptional) = 0;
  virtual void TextList(const Option& option, std::vector<std::string>& value) = 0;
  virtual void Number(const Option& option, uint32_t& value, Range range) = 0;
  virtual void Bytes(const Option& option, uint64_t& value, Range range) = 0;
  virtual void Duration(const Option& option, Milliseconds& value, Range range) = 0;
  virtual void Place(const Option& option, Address& value) = 0;
  // One of `names`; value is its index.
  virtual void Choice(const Option& option, int& value, std::span<const std::string_view> names) = 0;
  // true or false
  void Flag(const Option& option, bool& value);
  virtual void Section(const Option& option, const std::function<void(OptionVisitor&)>& visit) = 0;
  virtual void Sections(const Option& option, SectionList& list, Presence presence = Presence::kOptional) = 0;
};

std::string_view NameOf(ChatTemplate choice);

// Visits every option in the order in which the file shows them.
void VisitOptions(Config& config, OptionVisitor& visitor);

// Rules between options: unique names and aliases, sockets that fit; fills in what follows from others (listen.admin).
// INVALID_ARGUMENT names the option.
absl::Status FinishConfig(Config& config);
// INVALID_ARGUMENT, with the option, for what is no name of a model.
absl::Status CheckModelName(std::string_view option, std::string_view name);

}  // namespace inferd::config
