#include "daemon/ctl/status_view.h"

#include <fmt/format.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <algorithm>
#include <boost/json.hpp>
#include <vector>

#include "config/base/print.h"
#include "inferd/v1/admin.pb.h"
#include "inferd/v1/inference.pb.h"

namespace inferd::daemon {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
namespace json = boost::json;

json::value ToJson(const Message& message);

// `index` counts in a repeated field, -1 otherwise.
json::value FieldToJson(const Message& message, const FieldDescriptor& field, int index) {
  const auto& values = *message.GetReflection();
  const bool repeated = index >= 0;
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_STRING:
      return json::value(repeated ? values.GetRepeatedString(message, &field, index)
                                  : values.GetString(message, &field));
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return ToJson(repeated ? values.GetRepeatedMessage(message, &field, index) : values.GetMessage(message, &field));
    case FieldDescriptor::CPPTYPE_INT32:
      return values.GetInt32(message, &field);
    case FieldDescriptor::CPPTYPE_INT64:
      return values.GetInt64(message, &field);
    case FieldDescriptor::CPPTYPE_UINT32:
      return values.GetUInt32(message, &field);
    case FieldDescriptor::CPPTYPE_UINT64:
      return repeated ? values.GetRepeatedUInt64(message, &field, index) : values.GetUInt64(message, &field);
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return values.GetDouble(message, &field);
    case FieldDescriptor::CPPTYPE_BOOL:
      return values.GetBool(message, &field);
    default:
      return nullptr;  // no other type is in these messages
  }
}

// Of a map whose keys are text.
json::value MapToJson(const Message& message, const FieldDescriptor& field) {
  json::object out;
  const auto& values = *message.GetReflection();
  for (int i = 0; i < values.FieldSize(message, &field); ++i) {
    const Message& entry = values.GetRepeatedMessage(message, &field, i);
    const FieldDescriptor& key = *field.message_type()->map_key();
    out[entry.GetReflection()->GetString(entry, &key)] = FieldToJson(entry, *field.message_type()->map_value(), -1);
  }
  return out;
}

// protobuf's own JSON writes 64-bit numbers as strings, which nobody expects of a command line.
json::value ToJson(const Message& message) {
  json::object out;
  const auto& descriptor = *message.GetDescriptor();
  for (int i = 0; i < descriptor.field_count(); ++i) {
    const FieldDescriptor& field = *descriptor.field(i);
    if (field.is_map()) {
      out[field.name()] = MapToJson(message, field);
      continue;
    }
    if (!field.is_repeated()) {
      out[field.name()] = FieldToJson(message, field, -1);
      continue;
    }
    json::array& list = out[field.name()].emplace_array();
    const int size = message.GetReflection()->FieldSize(message, &field);
    for (int k = 0; k < size; ++k) list.push_back(FieldToJson(message, field, k));
  }
  return out;
}

using Row = std::vector<std::string>;

// Columns as wide as their widest cell, but for cells beyond all reason: one of them would widen every row.
std::string Table(const std::vector<Row>& rows) {
  constexpr size_t kWidest = 256;
  std::vector<size_t> widths(rows.front().size());
  for (const Row& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::min(std::max(widths[i], row[i].size()), kWidest);
  }
  std::string out;
  for (const Row& row : rows) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) line += fmt::format("{:<{}}  ", row[i], widths[i]);
    out += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return out;
}

// "45s", "12m", "3h 20m", "2d 4h".
std::string Age(int64_t seconds) {
  if (seconds < 60) return fmt::format("{}s", seconds);
  if (seconds < 3600) return fmt::format("{}m", seconds / 60);
  if (seconds < 86400) return fmt::format("{}h {}m", seconds / 3600, seconds % 3600 / 60);
  return fmt::format("{}d {}h", seconds / 86400, seconds % 86400 / 3600);
}

// Of a time that another process tells, which may be any number.
std::string AgeSince(int64_t then_seconds, int64_t now_seconds) {
  return Age(now_seconds - std::clamp<int64_t>(then_seconds, 0, now_seconds));
}

std::string StateOf(const v1::WorkerStatus& worker) {
  if (worker.state() == "LOADING") return fmt::format("LOADING {:.0f}%", worker.load_progress() * 100);
  if (worker.backoff_ms() > 0) return fmt::format("BACKOFF {} ms", worker.backoff_ms());
  return worker.state();
}

std::string OrDash(std::string text) { return text.empty() ? "-" : text; }

std::string Names(const google::protobuf::RepeatedPtrField<std::string>& names) {
  return OrDash(fmt::format("{}", fmt::join(names.begin(), names.end(), ",")));
}

Row WorkerRow(const v1::WorkerStatus& worker, int64_t now_seconds) {
  return {worker.model(),
          std::to_string(worker.version()),
          StateOf(worker),
          AgeSince(worker.state_since_unix_milliseconds() / 1000, now_seconds),
          std::to_string(worker.weight()),
          worker.pid() > 0 ? std::to_string(worker.pid()) : "-",
          std::to_string(worker.restarts()),
          worker.ready_after_ms() > 0 ? fmt::format("{} ms", worker.ready_after_ms()) : "-",
          OrDash(worker.fingerprint()),
          Names(worker.aliases())};
}

}  // namespace

std::string StatusTable(const v1::StatusResponse& status, WallTime now) {
  const int64_t now_seconds = std::max<int64_t>(std::chrono::system_clock::to_time_t(now), 0);
  std::string out =
      fmt::format("inferd {}  {}  pid {}  up {}  http {}  grpc {}\n", status.version(), status.state(), status.pid(),
                  AgeSince(status.started_unix_seconds(), now_seconds), status.http_address(), status.grpc_address());
  out += fmt::format("gateway {}  pid {}  restarts {}\n", status.gateway().state(), status.gateway().pid(),
                     status.gateway().restarts());
  if (!status.last_reload().empty()) {
    out += fmt::format("reloads {} ok, {} failed, last: {}\n", status.reloads_ok(), status.reloads_failed(),
                       status.last_reload());
  }
  for (const v1::CanaryStatus& canary : status.canaries()) {
    out += fmt::format("{} version {} taken back when {}: {} of {} requests failed\n", canary.model(),
                       fmt::join(canary.versions().begin(), canary.versions().end(), ","), canary.rollback_on(),
                       canary.errors(), canary.requests());
  }
  if (status.rollbacks() > 0)
    out += fmt::format("rollbacks {}, last: {}\n", status.rollbacks(), status.last_rollback());
  if (status.memory_budget_bytes() > 0) {
    out += fmt::format("models take {} of {} MiB\n", status.memory_planned_bytes() >> 20,
                       status.memory_budget_bytes() >> 20);
  }
  std::vector<Row> rows = {
      {"MODEL", "VERSION", "STATE", "FOR", "WEIGHT", "PID", "RESTARTS", "READY AFTER", "FINGERPRINT", "ALIASES"}};
  std::string errors, changes;
  for (const v1::WorkerStatus& worker : status.workers()) {
    rows.push_back(WorkerRow(worker, now_seconds));
    if (!worker.file_change().empty())
      changes +=
          fmt::format("{}@{}: {} is {}\n", worker.model(), worker.version(), worker.path(), worker.file_change());
    if (worker.last_error().empty()) continue;
    errors += fmt::format("{}@{}: {}\n", worker.model(), worker.version(), worker.last_error());
  }
  out += rows.size() > 1 ? "\n" + Table(rows) : "\nno models\n";
  if (!changes.empty()) out += "\nmodel files that are no longer what was loaded:\n" + changes;
  if (!status.gateway().last_error().empty()) errors += fmt::format("gateway: {}\n", status.gateway().last_error());
  if (!errors.empty()) out += "\nlast errors:\n" + errors;
  return Printable(out);
}

std::string StatusJson(const v1::StatusResponse& status) { return json::serialize(ToJson(status)) + "\n"; }

std::string ModelsTable(const v1::ListModelsResponse& models) {
  std::vector<Row> rows = {
      {"NAME", "STATE", "ARCHITECTURE", "QUANTIZATION", "PARAMETERS", "CONTEXT", "SIZE", "ALIASES"}};
  for (const v1::ModelInfo& model : models.models()) {
    const auto known = [](uint64_t value, std::string text) { return value > 0 ? std::move(text) : "-"; };
    rows.push_back({model.name(), OrDash(model.state()), OrDash(model.architecture()), OrDash(model.quantization()),
                    known(model.parameters(), fmt::format("{:.0f}M", static_cast<double>(model.parameters()) / 1e6)),
                    known(model.context_tokens(), std::to_string(model.context_tokens())),
                    known(model.size_bytes(), fmt::format("{} MiB", model.size_bytes() >> 20)),
                    Names(model.aliases())});
  }
  return rows.size() > 1 ? Printable(Table(rows)) : "no models\n";
}

std::string ModelsJson(const v1::ListModelsResponse& models) { return json::serialize(ToJson(models)) + "\n"; }

}  // namespace inferd::daemon
