#include "gateway/grpc/message_cost.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <gtest/gtest.h>

#include <initializer_list>
#include <memory>
#include <random>

#include "config/base/status.h"
#include "inferd/v1/inference.pb.h"

namespace inferd::gateway {
namespace {

constexpr uint64_t kNoBound = uint64_t{1} << 40;

absl::StatusOr<uint64_t> CostOf(const std::string& bytes, const google::protobuf::Descriptor& type,
                                uint64_t most = kNoBound) {
  google::protobuf::io::ArrayInputStream stream(bytes.data(), static_cast<int>(bytes.size()), 7);
  return MessageCost(stream, bytes.size(), type, most);
}

absl::StatusOr<uint64_t> CostOf(const google::protobuf::Message& message, uint64_t most = kNoBound) {
  return CostOf(message.SerializeAsString(), *message.GetDescriptor(), most);
}

// The same bytes in each run, also of maps.
std::string Serialized(const google::protobuf::Message& message) {
  std::string bytes;
  google::protobuf::io::StringOutputStream stream(&bytes);
  google::protobuf::io::CodedOutputStream coded(&stream);
  coded.SetSerializationDeterministic(true);
  message.SerializeToCodedStream(&coded);
  coded.Trim();
  return bytes;
}

// A number that fills `message` with values of all its fields.
void Fill(google::protobuf::Message& message, std::mt19937& random, int depth) {
  const google::protobuf::Descriptor& type = *message.GetDescriptor();
  const google::protobuf::Reflection& reflect = *message.GetReflection();
  for (int i = 0; i < type.field_count(); ++i) {
    const google::protobuf::FieldDescriptor* field = type.field(i);
    const int count = field->is_repeated() ? static_cast<int>(random() % 20) : static_cast<int>(random() % 2);
    for (int k = 0; k < count; ++k) {
      const std::string text(random() % 3 == 0 ? random() % 100 : random() % 4, 'x');
      switch (field->cpp_type()) {
        case google::protobuf::FieldDescriptor::CPPTYPE_STRING:
          field->is_repeated() ? reflect.AddString(&message, field, text) : reflect.SetString(&message, field, text);
          break;
        case google::protobuf::FieldDescriptor::CPPTYPE_INT32:
          field->is_repeated() ? reflect.AddInt32(&message, field, static_cast<int32_t>(random()))
                               : reflect.SetInt32(&message, field, static_cast<int32_t>(random()));
          break;
        case google::protobuf::FieldDescriptor::CPPTYPE_MESSAGE:
          if (depth < 4) {
            Fill(field->is_repeated() ? *reflect.AddMessage(&message, field) : *reflect.MutableMessage(&message, field),
                 random, depth + 1);
          }
          break;
        default:
          break;
      }
    }
  }
}

TEST(MessageCost, IsNoLessThanWhatParsingTakes) {
  std::mt19937 random(7);
  for (int round = 0; round < 500; ++round) {
    v1::GenerateRequest message;
    Fill(message, random, 0);
    v1::GenerateRequest parsed;
    ASSERT_TRUE(parsed.ParseFromString(message.SerializeAsString()));
    const auto cost = CostOf(message);
    ASSERT_TRUE(cost.ok()) << cost.status();
    EXPECT_GE(*cost, parsed.SpaceUsedLong()) << round;
    EXPECT_LE(*cost, 4 * parsed.SpaceUsedLong()) << round;
  }
}

TEST(MessageCost, OfManyEmptyMessagesIsFoundBeforeItIsPaid) {
  v1::GenerateRequest request;
  for (int i = 0; i < 100'000; ++i) request.mutable_chat()->add_messages();
  const absl::Status status = CostOf(request, 1 << 20).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(FieldOf(status), "chat.messages") << status;
}

TEST(MessageCost, CountsTextsNumbersMapsAndUnknownFields) {
  v1::GenerateRequest stops, tokens, bias;
  for (int i = 0; i < 100'000; ++i) {
    stops.add_stop("");
    tokens.mutable_tokens()->add_ids(1);
    (*bias.mutable_sampling()->mutable_logit_bias())[i] = 1;
  }
  EXPECT_FALSE(CostOf(stops, 1 << 20).ok());
  EXPECT_TRUE(CostOf(tokens, 1 << 20).ok()) << "a number is as large as it is";
  EXPECT_FALSE(CostOf(bias, 1 << 20).ok());
  std::string unknown;
  for (int i = 0; i < 100'000; ++i) unknown += {'\xF8', '\x7F', 0};  // field 2047, a varint
  EXPECT_FALSE(CostOf(unknown, *v1::GenerateRequest::descriptor(), 1 << 20).ok());
  v1::TokenizeRequest parsed;
  EXPECT_GE(*CostOf(unknown, *v1::TokenizeRequest::descriptor()),
            (parsed.ParseFromString(unknown), parsed.SpaceUsedLong()));
}

TEST(MessageCost, CountsTheFirstBlockOfAListOfOneNumber) {
  v1::DetokenizeRequest one;
  one.add_ids(1);
  v1::GenerateRequest lists;
  for (int i = 0; i < 100; ++i) lists.add_resume_tokens()->add_ids(1);
  for (const google::protobuf::Message* message :
       std::initializer_list<const google::protobuf::Message*>{&one, &lists}) {
    const std::unique_ptr<google::protobuf::Message> parsed(message->New());
    ASSERT_TRUE(parsed->ParseFromString(message->SerializeAsString()));
    EXPECT_GE(*CostOf(*message), parsed->SpaceUsedLong());
  }
  const std::string unpacked = {0x10, 0x01};
  v1::DetokenizeRequest parsed;
  ASSERT_TRUE(parsed.ParseFromString(unpacked));
  EXPECT_GE(*CostOf(unpacked, *v1::DetokenizeRequest::descriptor()), parsed.SpaceUsedLong());
}

TEST(MessageCost, NamesTheTextThatIsNoUtf8) {
  v1::GenerateRequest request;
  request.mutable_chat()->add_messages()->set_content("\xFF");
  EXPECT_EQ(MessageOf(CostOf(request).status()), "chat.messages.content: is not valid UTF-8");
}

// The stream of protobuf takes ten bytes for each, and forgets the upper bits.
TEST(MessageCost, RefusesTagsAndSizesOfMoreThanFiveBytes) {
  const google::protobuf::Descriptor& type = *v1::TokenizeRequest::descriptor();
  for (const int padding : {0, 3, 4, 5, 8}) {
    const auto padded = [&](char byte) {
      std::string bytes(1, byte);
      for (int i = 0; i < padding; ++i) bytes += '\0';
      for (int i = 0; i < padding; ++i) bytes[i] = static_cast<char>(bytes[i] | 0x80);
      return bytes;
    };
    for (const std::string& bytes : {padded('\x0A') + "\x01x", "\x0A" + padded('\x01') + "x"}) {
      v1::TokenizeRequest parsed;
      EXPECT_EQ(CostOf(bytes, type).ok(), parsed.ParseFromString(bytes)) << padding;
      EXPECT_EQ(CostOf(bytes, type).ok(), padding < 5) << padding;
    }
  }
  for (const char upper : {'\x07', '\x08', '\x10', '\x7F'}) {
    const std::string large = std::string("\x0A\x81\x80\x80\x80", 5) + upper + "x";
    v1::TokenizeRequest parsed;
    EXPECT_FALSE(CostOf(large, type).ok());
    EXPECT_FALSE(parsed.ParseFromString(large));
  }
}

// Whatever the bytes, the walk ends, and what it passes the parser takes.
TEST(MessageCost, RefusesWhatIsNoMessage) {
  const google::protobuf::Descriptor& type = *v1::GenerateRequest::descriptor();
  EXPECT_EQ(CostOf(std::string("\x0A\xFF\xFF\xFF\xFF\x07", 6), type).status().message(),
            "the message is not a valid inferd.v1.GenerateRequest");
  std::string deep;
  for (int i = 0; i < 200; ++i) deep = std::string{'\x0A', static_cast<char>(deep.size() % 128)} + deep.substr(0, 100);
  (void)CostOf(deep, type);
  std::mt19937 random(11);
  v1::GenerateRequest filled;
  int passed = 0;
  for (int round = 0; round < 5000; ++round) {
    Fill(filled, random, 2);
    std::string bytes = Serialized(filled);
    filled.Clear();
    for (int changes = 0; changes < 3 && !bytes.empty(); ++changes) {
      bytes[random() % bytes.size()] = static_cast<char>(random());
    }
    if (round % 3 == 0) bytes.resize(bytes.size() / 2);
    const auto cost = CostOf(bytes, type);
    if (!cost.ok()) continue;
    ++passed;
    v1::GenerateRequest parsed;
    EXPECT_TRUE(parsed.ParseFromString(bytes)) << round;
    EXPECT_GE(*cost, parsed.SpaceUsedLong()) << round;
  }
  EXPECT_GT(passed, 100);
}

}  // namespace
}  // namespace inferd::gateway
