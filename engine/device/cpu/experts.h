// Feed-forward networks of experts: each token's router chooses a few, and tokens of one expert are multiplied
// together.
//
//   experts.BeforeMixer(layer);
//   experts.Run(layer);
//
// A slot is one chosen expert of one token. Slots are sorted by expert for the products, and summed for each token in
// the order of its choice, so that a token's result does not depend on which others share its experts.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/device/cpu/block.h"

namespace inferd::device {

class Experts final : public Network {
 public:
  using Network::Network;
  static bool Has(const model::LayerSpec& layer) { return layer.feed_forward.experts.count > 0; }

  int64_t widest_row() const override { return spec_.width; }
  absl::Status Allocate() override;
  void BeforeMixer(int32_t layer) override;
  void Run(int32_t layer) override;

 private:
  struct Group {  // tokens of one expert
    int32_t expert;
    int64_t begin, end;  // in sorted order
  };

  void PrepareInput(int32_t layer);
  // What the experts or the router read where that is not the network's input.
  void PrepareOwnInput(int32_t layer);
  const Activations& InputOf(const model::ExpertSpec& experts) const;
  void RouteUnnormed(int32_t layer);
  void RouteScaled(int32_t layer);
  void RouteRows(int32_t layer, const Activations& read);
  void SortByExpert(const model::ExpertSpec& experts);
  template <typename Task>
  void ForGroups(int64_t rows, Task task);
  void RunChosen(int32_t layer);
  void StoreWeighedInputs(int32_t layer);
  void Combine(int32_t layer);
  void AddShared(int32_t layer);

  Activations input_, own_input_;  // [rows][n_embd]; the second where a layer needs it
  std::vector<float> router_logits_, weights_of_slots_;
  std::vector<int32_t> ids_;  // [rows][used] experts
  std::vector<Group> groups_;
  std::vector<int64_t> begins_;                   // [experts + 1] in sorted order
  std::vector<int32_t> sorted_rows_, places_;     // the row of each sorted slot; where each slot went
  std::vector<int32_t> all_slots_;                // 0, 1, ...
  float *inner_rows_ = nullptr, *out_ = nullptr;  // [slots] in sorted order, of the inner width and of n_embd
  Activations slots_, shared_inner_;
};

}  // namespace inferd::device
