// Pages of the prefix index to a stream and back; saved_prefixes.h has the format.
#include <algorithm>
#include <string>
#include <vector>

#include "config/base/status.h"
#include "engine/cache/paged_cache.h"

namespace inferd::cache {
namespace {

constexpr int64_t kPage = kernels::kPageTokens;
constexpr uint64_t kMagic = 0x4B56647265666E69;  // "inferdVK" with the lowest byte first
constexpr uint32_t kVersion = 1;
constexpr uint32_t kMostIdentityBytes = 4096;

struct StreamHead {
  uint64_t magic = kMagic;
  uint32_t version = kVersion, identity_bytes = 0;
  SipKey secret = {};
  uint64_t layout = 0;
};

struct PageHead {
  uint64_t parent = 0;
  uint32_t tokens = 0, has_state = 0;
};

std::span<const uint8_t> BytesOf(std::span<const int32_t> tokens) {
  return {reinterpret_cast<const uint8_t*>(tokens.data()), tokens.size_bytes()};
}

}  // namespace

// Of all that decides where a value lies in a page.
uint64_t PagedCache::LayoutHash() const {
  std::vector<int64_t> words = {kPage, static_cast<int64_t>(options_.type), slot_bytes_};
  for (const CacheLayout::Group& group : layout_.groups) {
    words.push_back(group.window);
    words.push_back(static_cast<int64_t>(group.layers.size()));
    words.insert(words.end(), group.layers.begin(), group.layers.end());
  }
  for (const std::vector<int64_t>* bytes : {&layout_.page_bytes, &layout_.state_bytes}) {
    words.insert(words.end(), bytes->begin(), bytes->end());
  }
  return SipHash({}, {reinterpret_cast<const uint8_t*>(words.data()), words.size() * sizeof(int64_t)});
}

template <typename Visitor>
absl::Status PagedCache::VisitParts(std::span<const int32_t> pages, Visitor visit) const {
  std::vector<uint8_t> part;
  for (int32_t group = 0; group < groups(); ++group) {
    for (int32_t layer : layout_.groups[group].layers) {
      part.resize(static_cast<size_t>(layout_.page_bytes[layer]));
      RETURN_IF_ERROR(visit(pages[group], layer, std::span(part)));
    }
  }
  return absl::OkStatus();
}

// ------------------------------------------------------------------------------------------------------------- saving

int64_t PagedCache::SavedBytes(const PrefixIndex::Node& node) const {
  int64_t bytes = sizeof(PageHead) + 2 * sizeof(uint64_t) + static_cast<int64_t>(BytesOf(node.tokens).size());
  for (const CacheLayout::Group& group : layout_.groups) {
    for (int32_t layer : group.layers) bytes += layout_.page_bytes[layer];
  }
  return bytes + (node.state >= 0 ? slot_bytes_ : 0);
}

absl::Status PagedCache::SaveNode(const PrefixIndex::Node& node, PieceWriter& out) const {
  RETURN_IF_ERROR(out.WriteValue(PageHead{.parent = node.parent,
                                          .tokens = static_cast<uint32_t>(node.tokens.size()),
                                          .has_state = node.state >= 0 ? 1u : 0u}));
  RETURN_IF_ERROR(out.Write(BytesOf(node.tokens)));
  RETURN_IF_ERROR(out.WriteChecksum());
  RETURN_IF_ERROR(VisitParts(node.pages, [&](int32_t page, int32_t layer, std::span<uint8_t> part) -> absl::Status {
    RETURN_IF_ERROR(memory_.Read(page, layer, part));
    return out.Write(part);
  }));
  if (node.state >= 0) {
    std::vector<uint8_t> state(static_cast<size_t>(slot_bytes_));
    RETURN_IF_ERROR(memory_.ReadState(node.state, state));
    RETURN_IF_ERROR(out.Write(state));
  }
  return out.WriteChecksum();
}

absl::StatusOr<SavedPrefixes> PagedCache::SavePrefixes(std::string_view identity, int64_t most_bytes, ByteSink& sink) {
  CHECK(identity.size() <= kMostIdentityBytes);
  PieceWriter out(sink);
  RETURN_IF_ERROR(out.WriteValue(StreamHead{
      .identity_bytes = static_cast<uint32_t>(identity.size()), .secret = index_.secret(), .layout = LayoutHash()}));
  RETURN_IF_ERROR(out.Write({reinterpret_cast<const uint8_t*>(identity.data()), identity.size()}));
  RETURN_IF_ERROR(out.WriteChecksum());
  SavedPrefixes saved;
  absl::Status status;
  constexpr int64_t kEndBytes = sizeof(PageHead) + sizeof(uint64_t);
  index_.VisitNewest([&](const PrefixIndex::Node& node) {
    if (out.bytes() + SavedBytes(node) + kEndBytes > most_bytes) return true;
    status = SaveNode(node, out);
    ++saved.pages;
    saved.tokens += static_cast<int64_t>(node.tokens.size());
    return !status.ok();
  });
  RETURN_IF_ERROR(status);
  RETURN_IF_ERROR(out.WriteValue(PageHead{}));
  RETURN_IF_ERROR(out.WriteChecksum());
  saved.bytes = out.bytes();
  return saved;
}

// ------------------------------------------------------------------------------------------------------------ loading

absl::StatusOr<SavedPrefixes> PagedCache::LoadPrefixes(std::string_view identity, ByteSource& source,
                                                       const std::function<bool()>& stop) {
  CHECK(stats_.sequences == 0);
  if (!options_.prefix_reuse) return SavedPrefixes{};
  DropPrefixes();
  const SipKey secret = index_.secret();
  absl::StatusOr<SavedPrefixes> loaded = LoadPages(identity, source, stop);
  if (loaded.ok()) return loaded;
  DropPrefixes();
  index_.SetSecret(secret);
  return loaded;
}

absl::StatusOr<SavedPrefixes> PagedCache::LoadPages(std::string_view identity, ByteSource& source,
                                                    const std::function<bool()>& stop) {
  PieceReader in(source);
  StreamHead head;
  RETURN_IF_ERROR(in.ReadValue(head));
  if (head.magic != kMagic || head.version != kVersion || head.identity_bytes > kMostIdentityBytes) {
    return FailedPrecondition("it is no file of saved prefixes of version {}", kVersion);
  }
  std::string found(head.identity_bytes, '\0');
  RETURN_IF_ERROR(in.Read({reinterpret_cast<uint8_t*>(found.data()), found.size()}));
  RETURN_IF_ERROR(in.CheckChecksum());
  if (found != identity) return FailedPrecondition("it was saved by \"{}\", this is \"{}\"", found, identity);
  if (head.layout != LayoutHash()) return FailedPrecondition("it was saved by a cache of another layout");
  index_.SetSecret(head.secret);
  SavedPrefixes loaded;
  while (!stop()) {
    ASSIGN_OR_RETURN(const int64_t tokens, LoadNode(in));
    if (tokens == 0) break;
    ++loaded.pages;
    loaded.tokens += tokens;
  }
  loaded.bytes = in.bytes();
  return loaded;
}

// Tokens of the page that was read; 0: there is no other one, or no room for it.
absl::StatusOr<int64_t> PagedCache::LoadNode(PieceReader& in) {
  PageHead head;
  RETURN_IF_ERROR(in.ReadValue(head));
  if (head.tokens > kPage) return DataLoss("a page of {} tokens, expected at most {}", head.tokens, kPage);
  std::vector<int32_t> tokens(head.tokens);
  RETURN_IF_ERROR(in.Read({reinterpret_cast<uint8_t*>(tokens.data()), tokens.size() * sizeof(int32_t)}));
  RETURN_IF_ERROR(in.CheckChecksum());
  int64_t blocks = 0;
  for (int32_t group = 0; group < groups(); ++group) blocks += store_->BlocksOf(group);
  if (tokens.empty() || blocks > store_->free_blocks() || index_.size() >= kMaximumNodes) return 0;
  std::vector<int32_t> pages;
  for (int32_t group = 0; group < groups(); ++group) pages.push_back(store_->Allocate(group));
  absl::StatusOr<PrefixIndex::Node*> node = LoadValues(head.parent, tokens, pages, head.has_state != 0, in);
  if (node.ok()) {
    for (int32_t page : pages) store_->SetIndexed(page, true);
    index_.MakeOldest(**node);  // they come newest first
    return static_cast<int64_t>(tokens.size());
  }
  for (int32_t page : pages) store_->Unreference(page);
  return node.status();
}

absl::StatusOr<PrefixIndex::Node*> PagedCache::LoadValues(uint64_t parent, std::span<const int32_t> tokens,
                                                          const std::vector<int32_t>& pages, bool has_state,
                                                          PieceReader& in) {
  RETURN_IF_ERROR(VisitParts(pages, [&](int32_t page, int32_t layer, std::span<uint8_t> part) -> absl::Status {
    RETURN_IF_ERROR(in.Read(part));
    return memory_.Write(page, layer, part);
  }));
  std::vector<uint8_t> state(has_state ? static_cast<size_t>(slot_bytes_) : 0);
  if (has_state) RETURN_IF_ERROR(in.Read(state));
  RETURN_IF_ERROR(in.CheckChecksum());
  PrefixIndex::Node* const node = index_.Insert(parent, tokens, pages);
  if (node == nullptr) return DataLoss("a page is there twice");
  if (!state.empty() && !free_slots_.empty()) {
    const int32_t slot = free_slots_.back();
    free_slots_.pop_back();
    index_.SetState(*node, slot);
    RETURN_IF_ERROR(memory_.WriteState(slot, state));
  }
  return node;
}

}  // namespace inferd::cache
