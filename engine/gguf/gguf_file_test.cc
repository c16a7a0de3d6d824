// Every kind of damaged model file that we know is made here and must be refused with an error that names the field.
#include "engine/gguf/gguf_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>

#include "config/base/status.h"
#include "engine/gguf/gguf_writer.h"

namespace inferd::gguf {
namespace {

using kernels::TensorType;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::span<const uint8_t> Bytes(std::string_view text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

// Writes any bytes, true or not.
class Raw {
 public:
  template <typename T>
  requires std::is_arithmetic_v<T> Raw& Number(T value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
    return *this;
  }
  Raw& Text(std::string_view text) {
    Number<uint64_t>(text.size());
    bytes_.append(text);
    return *this;
  }
  Raw& Header(uint64_t tensors, uint64_t entries, uint32_t version = 3) {
    bytes_ += "GGUF";
    return Number(version).Number(tensors).Number(entries);
  }
  Raw& Tensor(std::string_view name, std::vector<uint64_t> dims, uint32_t type, uint64_t offset) {
    Text(name).Number<uint32_t>(dims.size());
    for (uint64_t dim : dims) Number(dim);
    return Number(type).Number(offset);
  }
  Raw& Data(size_t size) {
    bytes_.resize((bytes_.size() + 31) / 32 * 32 + size);
    return *this;
  }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

constexpr uint64_t kHuge = INT64_MAX;

struct BadFile {
  const char* name;
  std::function<void(Raw&)> make;
  const char* message;  // part of the error
};

const BadFile kBadFiles[] = {
    {"empty", [](Raw&) {}, "header"},
    {"wrong magic", [](Raw& r) { r.Number<uint32_t>(0x46554748); }, "magic: 0x46554748"},
    {"version 1", [](Raw& r) { r.Header(0, 0, 1); }, "version: 1, expected 2 or 3"},
    {"version 4", [](Raw& r) { r.Header(0, 0, 4); }, "version: 4"},
    {"big-endian", [](Raw& r) { r.Header(0, 0, 0x03000000); }, "big-endian"},
    {"huge entry count", [](Raw& r) { r.Header(0, kHuge).Data(64); }, "metadata entries declared"},
    {"huge tensor count", [](Raw& r) { r.Header(kHuge, 0).Data(64); }, "tensors declared"},
    {"huge key", [](Raw& r) { r.Header(0, 1).Number(kHuge).Data(64); }, "metadata entry 0: key"},
    {"empty key", [](Raw& r) { r.Header(0, 1).Text("").Number<uint32_t>(0).Data(64); }, "key has 0 bytes"},
    {"unknown value type", [](Raw& r) { r.Header(0, 1).Text("k").Number<uint32_t>(13).Data(64); },
     "metadata k: value type 13"},
    {"huge string", [](Raw& r) { r.Header(0, 1).Text("k").Number<uint32_t>(8).Number(kHuge).Data(64); }, "metadata k"},
    {"string of 2^64-1", [](Raw& r) { r.Header(0, 1).Text("k").Number<uint32_t>(8).Number(UINT64_MAX).Data(64); },
     "metadata k"},
    {"huge array",
     [](Raw& r) { r.Header(0, 1).Text("k").Number<uint32_t>(9).Number<uint32_t>(4).Number(kHuge).Data(64); },
     "metadata k: array of 9223372036854775807 elements"},
    {"huge string array",
     [](Raw& r) { r.Header(0, 1).Text("k").Number<uint32_t>(9).Number<uint32_t>(8).Number(kHuge).Data(64); },
     "metadata k: array of 9223372036854775807 strings"},
    {"cut string array",
     [](Raw& r) {
       r.Header(0, 1)
           .Text("k")
           .Number<uint32_t>(9)
           .Number<uint32_t>(8)
           .Number<uint64_t>(3)
           .Text("a")
           .Number(kHuge)
           .Data(64);
     },
     "metadata k: string 1 of 3"},
    {"nested array",
     [](Raw& r) { r.Header(0, 1).Text("k").Number<uint32_t>(9).Number<uint32_t>(9).Number<uint64_t>(1).Data(64); },
     "metadata k: arrays of arrays"},
    {"bad element type",
     [](Raw& r) { r.Header(0, 1).Text("k").Number<uint32_t>(9).Number<uint32_t>(77).Number<uint64_t>(1).Data(64); },
     "metadata k: array element type 77"},
    {"boolean 2", [](Raw& r) { r.Header(0, 1).Text("k").Number<uint32_t>(7).Number<uint8_t>(2).Data(64); },
     "metadata k: boolean is 2"},
    {"key twice",
     [](Raw& r) {
       r.Header(0, 2);
       for (int i = 0; i < 2; ++i) r.Text("k").Number<uint32_t>(4).Number<uint32_t>(1);
       r.Data(64);
     },
     "metadata k: key occurs twice"},
    {"alignment 0", [](Raw& r) { r.Header(0, 1).Text("general.alignment").Number<uint32_t>(4).Number<uint32_t>(0); },
     "general.alignment: 0"},
    {"alignment 3", [](Raw& r) { r.Header(0, 1).Text("general.alignment").Number<uint32_t>(4).Number<uint32_t>(3); },
     "general.alignment: 3"},
    {"alignment 2^30",
     [](Raw& r) { r.Header(0, 1).Text("general.alignment").Number<uint32_t>(4).Number<uint32_t>(1 << 30); },
     "general.alignment: 1073741824"},
    {"alignment of another type",
     [](Raw& r) { r.Header(0, 1).Text("general.alignment").Number<uint32_t>(8).Text("32"); },
     "general.alignment: type string, expected uint32"},
    {"huge tensor name", [](Raw& r) { r.Header(1, 0).Number(kHuge).Data(64); }, "tensor 0: name"},
    {"long tensor name", [](Raw& r) { r.Header(1, 0).Tensor(std::string(65, 'a'), {32}, 0, 0).Data(128); },
     "name has 65 bytes"},
    {"no dimensions", [](Raw& r) { r.Header(1, 0).Tensor("t", {}, 0, 0).Data(128); }, "tensor t: 0 dimensions"},
    {"five dimensions",
     [](Raw& r) {
       r.Header(1, 0).Tensor("t", {1, 1, 1, 1, 1}, 0, 0).Data(128);
     },
     "tensor t: 5 dimensions"},
    {"dimension 0",
     [](Raw& r) {
       r.Header(1, 0).Tensor("t", {32, 0}, 0, 0).Data(128);
     },
     "dimension 1 is 0"},
    {"elements overflow",
     [](Raw& r) {
       r.Header(1, 0).Tensor("t", {1ull << 32, 1ull << 32}, 0, 0).Data(128);
     },
     "overflows at dimension 1"},
    {"byte count wraps", [](Raw& r) { r.Header(1, 0).Tensor("t", {(1ull << 62) + 32}, 0, 0).Data(128); },
     "tensor t: size in bytes overflows"},
    {"more than the file", [](Raw& r) { r.Header(1, 0).Tensor("t", {(1ull << 42) + 1}, 0, 0).Data(128); },
     "tensor t: 17592186044420 bytes at offset 0 reach beyond"},
    {"unknown tensor type", [](Raw& r) { r.Header(1, 0).Tensor("t", {32}, 4, 0).Data(128); }, "tensor t: type 4"},
    {"row is no multiple of the block", [](Raw& r) { r.Header(1, 0).Tensor("t", {33}, 2, 0).Data(128); },
     "tensor t: row of 33 elements, expected a multiple of 32 for type Q4_0"},
    {"unaligned offset", [](Raw& r) { r.Header(1, 0).Tensor("t", {32}, 0, 8).Data(256); },
     "tensor t: offset 8 is not a multiple of alignment 32"},
    {"offset near 2^64", [](Raw& r) { r.Header(1, 0).Tensor("t", {32}, 0, UINT64_MAX - 31).Data(128); },
     "tensor t: 128 bytes at offset 18446744073709551584 reach beyond"},
    {"last byte missing", [](Raw& r) { r.Header(1, 0).Tensor("t", {32}, 0, 0).Data(127); }, "tensor t: 128 bytes"},
    {"sizes sum to SIZE_MAX",
     [](Raw& r) { r.Header(2, 0).Tensor("a", {1ull << 61}, 0, 0).Tensor("b", {1ull << 61}, 0, 1ull << 63).Data(64); },
     "tensor a"},
    {"overlap", [](Raw& r) { r.Header(2, 0).Tensor("a", {32}, 0, 0).Tensor("b", {32}, 0, 96).Data(256); },
     "tensor b: overlaps tensor a"},
    {"tensor twice", [](Raw& r) { r.Header(2, 0).Tensor("a", {32}, 0, 0).Tensor("a", {32}, 0, 128).Data(256); },
     "tensor a: name occurs twice"},
    {"control bytes in a name", [](Raw& r) { r.Header(1, 0).Tensor("a\n\x80", {0}, 0, 0).Data(64); },
     "tensor a\\x0a\\x80"},
};

TEST(GgufFile, RefusesEveryDamagedFileByItsField) {
  for (const BadFile& bad : kBadFiles) {
    Raw raw;
    bad.make(raw);
    const auto file = GgufFile::Parse(Bytes(raw.bytes()), "bad.gguf");
    ASSERT_FALSE(file.ok()) << bad.name;
    EXPECT_EQ(file.status().code(), absl::StatusCode::kInvalidArgument) << bad.name;
    EXPECT_THAT(std::string(MessageOf(file.status())), HasSubstr(bad.message)) << bad.name;
    EXPECT_THAT(std::string(MessageOf(file.status())), HasSubstr("bad.gguf: ")) << bad.name;
  }
}

std::string SmallFile() {
  GgufWriter writer;
  writer.Add("general.architecture", "llama");
  writer.Add("llama.block_count", uint32_t{2});
  writer.Add("a.negative", int32_t{-5});
  writer.Add("a.float", 0.5f);
  writer.Add("a.bool", true);
  writer.Add("a.floats", std::span<const float>(std::vector<float>{1.5f, -2.0f}));
  writer.Add("a.ints", std::span<const int32_t>(std::vector<int32_t>{7, -8}));
  writer.Add("a.strings", std::span<const std::string>(std::vector<std::string>{"x", "", "yz"}));
  writer.AddTensor("first", TensorType::kF32, {4, 2});
  writer.AddTensor("second", TensorType::kQ8_0, {32});
  return writer.ToBytes(std::vector<std::string>{std::string(32, 'a'), std::string(34, 'b')});
}

TEST(GgufFile, RefusesEveryTruncation) {
  const std::string whole = SmallFile();
  const size_t end_of_data = whole.rfind('b') + 1;
  for (size_t size = 0; size < end_of_data; ++size) {
    // A copy of its own length, so that a sanitizer sees a read beyond it.
    const std::vector<uint8_t> cut(whole.begin(), whole.begin() + size);
    EXPECT_FALSE(GgufFile::Parse(cut, "cut.gguf").ok()) << size;
  }
  EXPECT_TRUE(GgufFile::Parse(Bytes(whole).first(end_of_data), "whole.gguf").ok());
}

TEST(GgufFile, ReadsWhatTheWriterWrote) {
  const std::string bytes = SmallFile();
  const auto file = GgufFile::Parse(Bytes(bytes), "small.gguf");
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ((*file)->version(), 3u);
  EXPECT_EQ(*(*file)->GetString("general.architecture"), "llama");
  EXPECT_EQ(*(*file)->GetUint("llama.block_count"), 2u);
  EXPECT_EQ(*(*file)->GetInt("a.negative"), -5);
  EXPECT_EQ(*(*file)->GetFloat("a.float"), 0.5);
  EXPECT_EQ(*(*file)->GetBool("a.bool"), true);
  EXPECT_THAT(*(*file)->GetFloats("a.floats"), ElementsAre(1.5f, -2.0f));
  EXPECT_THAT(*(*file)->GetInts("a.ints"), ElementsAre(7, -8));
  EXPECT_THAT(*(*file)->GetStrings("a.strings"), ElementsAre("x", "", "yz"));
  const Tensor* second = (*file)->FindTensor("second");
  ASSERT_NE(second, nullptr);
  EXPECT_EQ(second->type, TensorType::kQ8_0);
  EXPECT_EQ(second->bytes, 34u);
  EXPECT_EQ(second->data[33], 'b');
  EXPECT_EQ((*file)->FindTensor("third"), nullptr);
}

TEST(GgufFile, GettersNameKeyAndExpectation) {
  const std::string bytes = SmallFile();
  const auto file = GgufFile::Parse(Bytes(bytes), "small.gguf");
  ASSERT_TRUE(file.ok());
  EXPECT_EQ((*file)->GetUint("absent").status(),
            absl::NotFoundError("small.gguf: metadata absent: is missing, expected an unsigned integer"));
  EXPECT_EQ(
      (*file)->GetUint("general.architecture").status(),
      absl::InvalidArgumentError("small.gguf: metadata general.architecture: string, expected an unsigned integer"));
  EXPECT_EQ((*file)->GetUint("a.negative").status(),
            absl::InvalidArgumentError("small.gguf: metadata a.negative: -5, expected at least 0"));
  EXPECT_EQ(
      (*file)->GetInts("a.floats").status(),
      absl::InvalidArgumentError("small.gguf: metadata a.floats: array of float32, expected an array of integers"));
  EXPECT_EQ(*(*file)->GetUintOr("absent", 9), 9u);
  EXPECT_FALSE((*file)->GetUintOr("general.architecture", 9).ok());
}

TEST(GgufFile, CopiedEntriesAreTheSame) {
  const std::string bytes = SmallFile();
  const auto file = GgufFile::Parse(Bytes(bytes), "small.gguf");
  ASSERT_TRUE(file.ok());
  GgufWriter copy;
  for (const Entry& entry : (*file)->entries()) copy.Add(entry);
  copy.AddTensor("first", TensorType::kF32, {4, 2});
  copy.AddTensor("second", TensorType::kQ8_0, {32});
  EXPECT_EQ(copy.ToBytes(std::vector<std::string>{std::string(32, 'a'), std::string(34, 'b')}), bytes);
}

class GgufFileOnDisk : public ::testing::Test {
 protected:
  void SetUp() override {
    directory_ = std::filesystem::temp_directory_path() / ("gguf_file_test." + std::to_string(getpid()));
    std::filesystem::create_directories(directory_);
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }
  std::string Path(const char* name) const { return directory_ / name; }
  std::string OpenError(const char* name) const { return std::string(MessageOf(GgufFile::Open(Path(name)).status())); }
  void Write(const char* name, std::string_view bytes) const { std::ofstream(Path(name), std::ios::binary) << bytes; }

  std::filesystem::path directory_;
};

TEST_F(GgufFileOnDisk, RefusesWhatIsNoRegularFile) {
  EXPECT_THAT(OpenError("absent.gguf"), HasSubstr("No such file"));
  EXPECT_THAT(OpenError("."), HasSubstr("is a directory, expected a regular file"));
  ASSERT_EQ(mkfifo(Path("pipe").c_str(), 0600), 0);
  EXPECT_THAT(OpenError("pipe"), HasSubstr("is a pipe"));
  ASSERT_EQ(symlink(Path("loop").c_str(), Path("loop").c_str()), 0);
  EXPECT_THAT(OpenError("loop"), HasSubstr("Too many levels of symbolic links"));
  EXPECT_THAT(std::string(MessageOf(GgufFile::Open("/dev/zero").status())), HasSubstr("is a device"));
  Write("empty.gguf", "");
  EXPECT_THAT(OpenError("empty.gguf"), HasSubstr("file is empty"));
}

std::string PartOf(uint16_t number, uint16_t count, const char* tensor) {
  GgufWriter writer;
  writer.Add("split.no", number);
  writer.Add("split.count", count);
  writer.Add("split.tensors.count", int32_t{2});
  writer.AddTensor(tensor, TensorType::kF32, {8});
  return writer.ToBytes(std::vector<std::string>{std::string(32, 'p')});
}

TEST_F(GgufFileOnDisk, OpensAllPartsFromTheFirst) {
  Write("big-00001-of-00002.gguf", PartOf(0, 2, "a"));
  EXPECT_THAT(OpenError("big-00001-of-00002.gguf"), HasSubstr("big-00002-of-00002.gguf: No such file"));
  Write("big-00002-of-00002.gguf", PartOf(1, 2, "b"));
  const auto file = GgufFile::Open(Path("big-00001-of-00002.gguf"));
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ((*file)->parts(), 2u);
  EXPECT_NE((*file)->FindTensor("b"), nullptr);
  EXPECT_THAT(OpenError("big-00002-of-00002.gguf"), HasSubstr("expected the first"));
  Write("renamed.gguf", PartOf(0, 2, "a"));
  EXPECT_THAT(OpenError("renamed.gguf"), HasSubstr("-00001-of-00002.gguf"));
  Write("big-00002-of-00002.gguf", PartOf(1, 2, "a"));
  EXPECT_THAT(OpenError("big-00001-of-00002.gguf"), HasSubstr("tensor a: is in an earlier part too"));
}

TEST_F(GgufFileOnDisk, FailedWriteLeavesNothing) {
  GgufWriter writer;
  writer.AddTensor("t", TensorType::kF32, {8});
  const absl::Status status =
      writer.WriteFile(Path("new.gguf"), [](size_t, TensorSink& sink) { return sink.Write(Bytes("short")); });
  EXPECT_THAT(std::string(MessageOf(status)), HasSubstr("tensor t: 5 bytes written, expected 32"));
  EXPECT_TRUE(std::filesystem::is_empty(directory_));
}

}  // namespace
}  // namespace inferd::gguf
