// One line a field.
#include "worker/model_info.h"

namespace inferd::worker {

v1::ModelInfo ModelInfoOf(const LoadedModel& model) {
  v1::ModelInfo info;
  info.set_name(model.options.name);
  info.mutable_aliases()->Add(model.options.aliases.begin(), model.options.aliases.end());
  info.set_state(model.engine->draining() ? "DRAINING" : "READY");
  info.set_version(model.version);
  info.set_fingerprint(model.fingerprint());
  info.set_created_unix_seconds(model.file_time_unix_seconds);
  info.set_updated_unix_seconds(model.loaded_unix_seconds);
  info.set_architecture(model.model->spec().architecture);
  info.set_parameters(model.model->parameter_count());
  info.set_context_tokens(static_cast<uint32_t>(model.engine->limits().context_tokens));
  info.set_trained_context_tokens(static_cast<uint32_t>(model.model->context_length()));
  info.set_vocabulary_tokens(static_cast<uint32_t>(model.model->vocabulary_size()));
  info.set_embedding_width(static_cast<uint32_t>(model.model->spec().width));
  info.set_quantization(QuantizationOf(*model.file));
  info.set_size_bytes(model.file->size_bytes());
  info.set_has_chat_template(model.chat_template != nullptr);
  info.set_can_generate(model.can_generate());
  info.set_can_embed(true);
  info.set_can_rank(model.can_rank());
  return info;
}

}  // namespace inferd::worker
