// See the header.
#include "engine/model/tensor_names.h"

#include <algorithm>
#include <iterator>

namespace inferd::model {
namespace {

// Without "blk.N." and the ending; sorted.
constexpr std::string_view kNames[] = {"altup_correct_coef",
                                       "altup_correct_scale",
                                       "altup_predict_coef",
                                       "altup_proj",
                                       "altup_router",
                                       "altup_router_norm",
                                       "altup_unembd_proj",
                                       "attn_gate",
                                       "attn_k",
                                       "attn_k_b",
                                       "attn_k_norm",
                                       "attn_kv_a_mqa",
                                       "attn_kv_a_norm",
                                       "attn_kv_b",
                                       "attn_norm",
                                       "attn_norm_2",
                                       "attn_output",
                                       "attn_output_norm",
                                       "attn_q",
                                       "attn_q_a",
                                       "attn_q_a_norm",
                                       "attn_q_b",
                                       "attn_q_norm",
                                       "attn_qkv",
                                       "attn_sinks",
                                       "attn_sub_norm",
                                       "attn_v",
                                       "attn_v_b",
                                       "cls",
                                       "cls.norm",
                                       "cls.output",
                                       "enc.output_norm",
                                       "exp_probs_b",
                                       "ffn.act",
                                       "ffn_down",
                                       "ffn_down_exps",
                                       "ffn_down_shexp",
                                       "ffn_gate",
                                       "ffn_gate_exps",
                                       "ffn_gate_inp",
                                       "ffn_gate_inp_shexp",
                                       "ffn_gate_shexp",
                                       "ffn_gate_up_exps",
                                       "ffn_norm",
                                       "ffn_norm_exps",
                                       "ffn_sub_norm",
                                       "ffn_up",
                                       "ffn_up_exps",
                                       "ffn_up_shexp",
                                       "inp_gate",
                                       "laurel_l",
                                       "laurel_post_norm",
                                       "laurel_r",
                                       "layer_output_norm",
                                       "layer_output_scale",
                                       "output",
                                       "output_norm",
                                       "per_layer_model_proj",
                                       "per_layer_proj_norm",
                                       "per_layer_token_embd",
                                       "position_embd",
                                       "post_attention_norm",
                                       "post_ffw_norm",
                                       "post_ffw_norm_1",
                                       "post_ffw_norm_2",
                                       "post_norm",
                                       "pre_ffw_norm_2",
                                       "proj",
                                       "rope_factors_long",
                                       "rope_factors_short",
                                       "rope_freqs",
                                       "shortconv.conv",
                                       "shortconv.in_proj",
                                       "shortconv.out_proj",
                                       "ssm_a",
                                       "ssm_alpha",
                                       "ssm_b_norm",
                                       "ssm_ba",
                                       "ssm_beta",
                                       "ssm_c_norm",
                                       "ssm_conv1d",
                                       "ssm_d",
                                       "ssm_dt",
                                       "ssm_dt_norm",
                                       "ssm_in",
                                       "ssm_norm",
                                       "ssm_out",
                                       "ssm_x",
                                       "token_embd",
                                       "token_embd_norm",
                                       "token_types"};

// Adapters merged into no matrix would change it: the names of their parts begin like the matrix.
constexpr std::string_view kEndings[] = {".weight", ".bias", ".scale", ".scales", ".lora_a", ".lora_b"};

std::string_view WithoutBlock(std::string_view name) {
  constexpr std::string_view kBlock = "blk.";
  if (!name.starts_with(kBlock)) return name;
  const size_t end = name.find('.', kBlock.size());
  return end == std::string_view::npos ? name : name.substr(end + 1);
}

std::string_view WithoutEnding(std::string_view name) {
  for (bool found = true; found;) {
    found = false;
    for (const std::string_view ending : kEndings) {
      if (!name.ends_with(ending)) continue;
      name.remove_suffix(ending.size());
      found = true;
    }
  }
  return name;
}

}  // namespace

bool IsTensorOfSomeFamily(std::string_view name) {
  return std::binary_search(std::begin(kNames), std::end(kNames), WithoutEnding(WithoutBlock(name)));
}

}  // namespace inferd::model
