// The wire format: protobuf.dev/programming-guides/encoding. Sizes are those of the C++ runtime on 64 bits.
#include "gateway/grpc/message_cost.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/message.h>

#include <optional>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "config/base/json_string.h"
#include "config/base/status.h"

namespace inferd::gateway {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::io::CodedInputStream;

constexpr int kDeepest = 100;         // messages within each other, as the parser allows
constexpr uint64_t kAllocation = 16;  // the allocator's own share
constexpr uint64_t kElement = 16;     // a place in a list, which grows by doubling
constexpr uint64_t kMapEntry = 64;    // node and table beside key and value
constexpr uint64_t kUnknownField = 64;
constexpr uint64_t kFirstBlock = 96;  // of a list of scalars: its header, and room for some elements

enum WireType : uint32_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

uint64_t ScalarBytes(const FieldDescriptor& field) {
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_BOOL:
      return 1;
    case FieldDescriptor::CPPTYPE_INT64:
    case FieldDescriptor::CPPTYPE_UINT64:
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return 8;
    default:
      return 4;
  }
}

// Of the elements of a packed list; -1: no scalar.
int PackedWireType(const FieldDescriptor& field) {
  switch (field.type()) {
    case FieldDescriptor::TYPE_FIXED64:
    case FieldDescriptor::TYPE_SFIXED64:
    case FieldDescriptor::TYPE_DOUBLE:
      return kFixed64;
    case FieldDescriptor::TYPE_FIXED32:
    case FieldDescriptor::TYPE_SFIXED32:
    case FieldDescriptor::TYPE_FLOAT:
      return kFixed32;
    case FieldDescriptor::TYPE_STRING:
    case FieldDescriptor::TYPE_BYTES:
    case FieldDescriptor::TYPE_MESSAGE:
    case FieldDescriptor::TYPE_GROUP:
      return -1;
    default:
      return kVarint;
  }
}

class Walk {
 public:
  Walk(CodedInputStream& input, const Descriptor& type, uint64_t most) : input_(input), type_(type), most_(most) {}

  absl::StatusOr<uint64_t> Run() {
    cost_ = EmptyBytes(type_);
    RETURN_IF_ERROR(Message(type_, "", 0));
    return cost_;
  }

 private:
  absl::Status Malformed() const {
    return InvalidArgument("the message is not a valid {}", std::string(type_.full_name()));
  }

  absl::Status Add(uint64_t bytes, const std::string& path) {
    cost_ += bytes;
    if (cost_ <= most_) return absl::OkStatus();
    return AtField(path, InvalidArgument("up to here the message takes more than {} bytes of memory, which is too much "
                                         "for its size",
                                         most_));
  }

  // Up to the stream's limit. `path`: names of the fields that lead here, with dots.
  absl::Status Message(const Descriptor& type, const std::string& path, int depth) {
    if (depth > kDeepest) return Malformed();
    const FieldDescriptor* list = nullptr;  // that the element before was of
    while (input_.BytesUntilLimit() > 0) {
      const std::optional<uint64_t> read = ReadShortVarint();
      const auto tag = static_cast<uint32_t>(read.value_or(0));
      if (tag < 8) return Malformed();
      const FieldDescriptor* field = type.FindFieldByNumber(static_cast<int>(tag >> 3));
      const std::string place = field == nullptr ? path
                                : path.empty()   ? std::string(field->name())
                                                 : path + "." + std::string(field->name());
      if (field != nullptr && field != list && field->is_repeated() && PackedWireType(*field) >= 0) {
        RETURN_IF_ERROR(Add(kFirstBlock, place));
      }
      list = field;
      RETURN_IF_ERROR(Field(field, tag & 7, place, depth));
    }
    return absl::OkStatus();
  }

  // A tag or a size: the parser takes no more than five bytes for these.
  std::optional<uint64_t> ReadShortVarint() {
    constexpr int kMostBytes = 5;
    const int begin = input_.CurrentPosition();
    uint64_t value = 0;
    if (!input_.ReadVarint64(&value) || input_.CurrentPosition() - begin > kMostBytes) return std::nullopt;
    return value;
  }

  absl::Status Field(const FieldDescriptor* field, uint32_t wire, const std::string& path, int depth) {
    if (wire != kBytes) {
      if (!SkipScalar(wire)) return Malformed();
      if (field == nullptr || PackedWireType(*field) != static_cast<int>(wire)) return Add(kUnknownField, path);
      return field->is_repeated() ? Add(2 * ScalarBytes(*field), path) : absl::OkStatus();
    }
    const std::optional<uint64_t> given = ReadShortVarint();
    if (!given || *given > static_cast<uint64_t>(input_.BytesUntilLimit())) return Malformed();
    const auto size = static_cast<uint32_t>(*given);
    if (field == nullptr) {
      RETURN_IF_ERROR(Add(kUnknownField + kAllocation + sizeof(std::string) + size, path));
      return input_.Skip(static_cast<int>(size)) ? absl::OkStatus() : Malformed();
    }
    if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) return SubMessage(*field, size, path, depth);
    if (field->cpp_type() == FieldDescriptor::CPPTYPE_STRING) return Text(*field, size, path);
    return Packed(*field, size, path);
  }

  absl::Status SubMessage(const FieldDescriptor& field, uint32_t size, const std::string& path, int depth) {
    RETURN_IF_ERROR(Add(field.is_map() ? kMapEntry : EmptyBytes(*field.message_type()) + kAllocation + kElement, path));
    const CodedInputStream::Limit outer = input_.PushLimit(static_cast<int>(size));
    RETURN_IF_ERROR(Message(*field.message_type(), path, depth + 1));
    input_.PopLimit(outer);
    return absl::OkStatus();
  }

  absl::Status Text(const FieldDescriptor& field, uint32_t size, const std::string& path) {
    RETURN_IF_ERROR(Add(sizeof(std::string) + 2 * kAllocation + (field.is_repeated() ? kElement : 0) + size, path));
    if (field.type() == FieldDescriptor::TYPE_BYTES) {
      return input_.Skip(static_cast<int>(size)) ? absl::OkStatus() : Malformed();
    }
    if (!input_.ReadString(&text_, static_cast<int>(size))) return Malformed();
    return IsUtf8(text_) ? absl::OkStatus() : InvalidField(path, "is not valid UTF-8");
  }

  absl::Status Packed(const FieldDescriptor& field, uint32_t size, const std::string& path) {
    const int wire = PackedWireType(field);
    if (!field.is_repeated()) {  // the parser keeps it as a field that it does not know
      RETURN_IF_ERROR(Add(kUnknownField + kAllocation + sizeof(std::string) + size, path));
      return input_.Skip(static_cast<int>(size)) ? absl::OkStatus() : Malformed();
    }
    const CodedInputStream::Limit outer = input_.PushLimit(static_cast<int>(size));
    while (input_.BytesUntilLimit() > 0) {
      if (!SkipScalar(static_cast<uint32_t>(wire))) return Malformed();
      RETURN_IF_ERROR(Add(2 * ScalarBytes(field), path));
    }
    input_.PopLimit(outer);
    return absl::OkStatus();
  }

  bool SkipScalar(uint32_t wire) {
    uint64_t varint = 0;
    switch (wire) {
      case kVarint:
        return input_.ReadVarint64(&varint);
      case kFixed64:
        return input_.Skip(8);
      case kFixed32:
        return input_.Skip(4);
      default:
        return false;  // groups: our messages have none
    }
  }

  uint64_t EmptyBytes(const Descriptor& type) {
    const auto [found, added] = empty_bytes_.try_emplace(&type, 0);
    if (added) {
      const google::protobuf::Message* prototype =
          google::protobuf::MessageFactory::generated_factory()->GetPrototype(&type);
      found->second = prototype->SpaceUsedLong();
    }
    return found->second;
  }

  CodedInputStream& input_;
  const Descriptor& type_;
  const uint64_t most_;
  uint64_t cost_ = 0;
  std::string text_;
  absl::flat_hash_map<const Descriptor*, uint64_t> empty_bytes_;
};

}  // namespace

absl::StatusOr<uint64_t> MessageCost(google::protobuf::io::ZeroCopyInputStream& stream, uint64_t size_bytes,
                                     const google::protobuf::Descriptor& type, uint64_t most_bytes) {
  CodedInputStream input(&stream);
  input.PushLimit(static_cast<int>(size_bytes));
  return Walk(input, type, most_bytes).Run();
}

}  // namespace inferd::gateway
