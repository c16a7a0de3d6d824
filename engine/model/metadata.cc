#include "engine/model/metadata.h"

#include <cmath>
#include <utility>
#include <variant>

#include "config/base/status.h"

namespace inferd::model {
namespace {

// A model without a required key is an unsound file, not a file that was not found.
absl::Status Missing(const absl::Status& status) {
  return absl::IsNotFound(status) ? InvalidArgument("{}", MessageOf(status)) : status;
}

}  // namespace

void Metadata::Fail(const absl::Status& status) {
  if (status_.ok()) status_ = Annotate(status, file_.path());
}

void Metadata::FailAsRead(const absl::Status& status) { status_.Update(status); }

std::string Metadata::Key(std::string_view key) const { return fmt::format("{}.{}", architecture_, key); }

int64_t Metadata::Checked(std::string_view key, int64_t value, int64_t minimum, int64_t maximum) {
  if (value >= minimum && value <= maximum) return value;
  Fail(InvalidArgument("{}: {} is outside {}..{}", Key(key), value, minimum, maximum));
  return minimum;
}

int64_t Metadata::Count(std::string_view key, int64_t maximum) {
  absl::StatusOr<int64_t> value = file_.GetInt(Key(key));
  FailAsRead(Missing(value.status()));
  return value.ok() ? Checked(key, *value, 1, maximum) : 1;
}

int64_t Metadata::CountOr(std::string_view key, int64_t fallback, int64_t maximum) {
  if (!Has(key)) return fallback;
  absl::StatusOr<int64_t> value = file_.GetInt(Key(key));
  FailAsRead(value.status());
  return value.ok() ? Checked(key, *value, 0, maximum) : fallback;
}

double Metadata::Real(std::string_view key) {
  if (!Has(key)) FailAsRead(Missing(file_.GetFloat(Key(key)).status()));
  return RealOr(key, 1);
}

double Metadata::RealOr(std::string_view key, double fallback) {
  if (!Has(key)) return fallback;
  absl::StatusOr<double> value = file_.GetFloat(Key(key));
  FailAsRead(value.status());
  if (!value.ok()) return fallback;
  if (!std::isfinite(*value)) Fail(InvalidArgument("{}: not a finite number", Key(key)));
  return std::isfinite(*value) ? *value : fallback;
}

bool Metadata::FlagOr(std::string_view key, bool fallback) {
  absl::StatusOr<bool> value = file_.GetBoolOr(Key(key), fallback);
  FailAsRead(value.status());
  return value.ok() ? *value : fallback;
}

std::string Metadata::TextOr(std::string_view key, std::string_view fallback) {
  absl::StatusOr<std::string_view> value = file_.GetStringOr(Key(key), fallback);
  FailAsRead(value.status());
  return std::string(value.ok() ? *value : fallback);
}

std::vector<int64_t> Metadata::CountPerLayer(std::string_view key, int64_t layers, int64_t fallback) {
  const gguf::Entry* entry = file_.Find(Key(key));
  if (entry == nullptr || !std::holds_alternative<gguf::Array>(entry->value)) {
    return std::vector<int64_t>(layers, CountOr(key, fallback));
  }
  std::vector<int64_t> values = Counts(key);
  if (static_cast<int64_t>(values.size()) < layers) {
    if (status_.ok())
      Fail(InvalidArgument("{}: {} elements, expected one for each of {} layers", Key(key), values.size(), layers));
    values.resize(layers, fallback);
  }
  values.resize(layers);
  return values;
}

std::vector<int64_t> Metadata::Counts(std::string_view key) {
  if (!Has(key)) return {};
  absl::StatusOr<std::vector<int64_t>> values = file_.GetInts(Key(key));
  FailAsRead(values.status());
  if (!values.ok()) return {};
  for (int64_t& value : *values) value = Checked(key, value, 0, kLargestCount);
  return *std::move(values);
}

}  // namespace inferd::model
