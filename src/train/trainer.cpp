#include "train/trainer.h"

#include <algorithm>
#include <cmath>
#include <exception>
#include <utility>

#include "base/clock.h"
#include "base/environment.h"
#include "base/error.h"
#include "base/telemetry.h"
#include "optim/schedule.h"
#include "train/checkpoints.h"
#include "train/evaluated_model.h"
#include "train/metrics.h"
#include "train/session.h"
#include "train/update.h"

namespace saddle::train {
namespace {

// Adds the time of a scope to a number of seconds.
class AddSeconds {
 public:
  explicit AddSeconds(double& seconds) : seconds_(seconds) {}
  AddSeconds(const AddSeconds&) = delete;
  AddSeconds& operator=(const AddSeconds&) = delete;
  ~AddSeconds() { seconds_ += watch_.seconds(); }

 private:
  double& seconds_;
  Stopwatch watch_;
};

double rate(int64_t tokens, double seconds) {
  return static_cast<double>(tokens) / seconds;
}

template <class T>
class Trainer {
 public:
  Trainer(const config::Settings& settings, const TrainOptions& options, Log& log)
      : log_(log),
        stop_(options.stop),
        session_(settings, options, log),
        runner_(session_.context, settings, session_.trained),
        evaluated_(session_.context, settings, session_.trained, runner_.execution()),
        evaluator_(session_.context, evaluated_.execution(),
                   {settings.model.context_length, settings.evaluation.batch_size,
                    settings.training.micro_batch_size}),
        consensus_distance_(session_.context, 1, 1, 1),
        checkpoints_(settings.training, session_.directory.path(), session_.recipe),
        metrics_(session_.begin_files(log)),
        state_(session_.state) {}

  TrainOutcome run() {
    std::optional<Telemetry> telemetry;
    try {
      if (session_.settings.runtime.telemetry) {
        telemetry.emplace(session_.directory.file("telemetry.csv"), log_);
      }
      return train();
    } catch (const std::exception& error) {  // run.log must also say why the run ended
      log_.finish_progress();
      log_.warn("training ended after {} updates: {}", state_.step, error.what());
      throw;
    }
  }

 private:
  TrainOutcome train() {
    const EpochPlan& plan = session_.plan;
    log_.info("{} parameters, {} updates in {} epochs, {} tokens; {} threads",
              session_.trained.weights.layout().size(), plan.total_updates(), plan.epochs(),
              plan.tokens(plan.total_blocks()), session_.context.threads());
    if (workers() > 1) {
      const config::DecentralizedSettings& decentralized = session_.settings.decentralized;
      log_.info("{} workers mix: topology {}, scheme {}", workers(),
                config::name(decentralized.topology), config::name(decentralized.scheme));
    }
    tune();
    state_.seconds.startup += startup_.seconds();
    if (!finish_epoch()) return stopped();
    while (state_.position < plan.total_blocks()) {
      if (stop_() != 0) return stopped();
      update();
      if (!finish_epoch()) return stopped();
    }
    return finish();
  }

  void tune() {
    const config::RuntimeSettings& runtime = session_.settings.runtime;
    if (!runtime.compile || runtime.compile_mode != config::CompileMode::kMaxAutotune) return;
    if (session_.context.threads() == 1) {
      log_.info("max-autotune: with one thread there is nothing to choose");
      return;
    }
    const TuningResult result = runner_.tune_products();
    log_.info(
        "max-autotune: {} product shapes in {:.1f} s; {} are left to the library, {} are shared by "
        "rows, {} by columns, {} by workers",
        result.shapes, result.seconds, result.by_library, result.by_rows, result.by_columns,
        result.by_products);
  }

  int64_t workers() const { return session_.trained.workers(); }
  int64_t tokens() const { return session_.plan.tokens(state_.position); }

  void update() {
    const EpochPlan& plan = session_.plan;
    const int64_t blocks = plan.next_update_blocks(state_.position);
    UpdatePosition position{state_.step + 1, plan.tokens(state_.position + blocks),
                            plan.tokens(plan.total_blocks())};
    const double lr =
        optim::learning_rate(session_.settings.optimizer, position.tokens, position.total_tokens);
    position.gamma = session_.consensus.gamma(state_.step, lr);
    if (first_update_) {
      log_.info(
          "first update begins {:.3f} s after data and weights were ready, {:.3f} s after start",
          ready_.seconds(), startup_.seconds());
    }
    const Stopwatch watch;
    read_batch(session_.loader, blocks, workers(), session_.settings.model.context_length, batch_);
    const UpdateResult result = runner_.run(batch_, position);
    const double seconds = watch.seconds();
    state_.step = position.step;
    state_.position += blocks;
    state_.train_loss = result.mean_loss();
    state_.seconds.training += seconds;
    if (std::exchange(first_update_, false)) state_.seconds.first_update = seconds;
    window_tokens_ += result.targets;
    window_seconds_ += seconds;
    piece_tokens_ += result.targets;
    report(result, position.gamma);
    if (checkpoints_.rolling_due(state_.step)) {
      checkpoint([&] { return checkpoints_.save_latest(state_, session_.trained); });
    }
  }

  void report(const UpdateResult& result, double gamma) {
    const EpochPlan& plan = session_.plan;
    const bool last = state_.position == plan.total_blocks();
    const int64_t epoch = plan.completed_epochs(state_.position - 1) + 1;  // of this update
    const double speed = rate(piece_tokens_, state_.seconds.training - training_before_);
    log_.progress(fmt::format("step {}/{}  epoch {}/{}  loss {:.4f}  {} tokens/s  time left {}",
                              state_.step, plan.total_updates(), epoch, plan.epochs(),
                              result.mean_loss(), human_count(speed), human_duration(time_left())));
    if (workers() > 1) {
      metrics_.append({{"type", kWorkersLine},
                       {"step", state_.step},
                       {"loss", json_number(result.mean_loss())},
                       {"largest_loss", json_number(result.largest_loss())},
                       {"grad_norm", json_number(result.largest_grad_norm())},
                       {"gamma", json_number(gamma)}});
    }
    if (state_.step % session_.settings.training.log_every != 0 && !last) return;
    Json line = {
        {"type", kTrainLine},
        {"step", state_.step},
        {"tokens", tokens()},
        {"epoch", epoch},
        {"loss", json_number(result.mean_loss())},
        {"grad_norm", json_number(result.largest_grad_norm())},
        {"lr", json_number(result.lr)},
        {"tokens_per_second", json_number(rate(window_tokens_, window_seconds_))},
        {"elapsed_tokens_per_second", json_number(rate(tokens(), state_.seconds.elapsed()))},
        {"seconds", json_number(state_.seconds.elapsed())}};
    if (workers() > 1) {
      line["largest_loss"] = json_number(result.largest_loss());
      line["gamma"] = json_number(gamma);
      line["consensus_distance"] = json_number(consensus_distance());
    }
    metrics_.append(line);
    window_tokens_ = 0;
    window_seconds_ = 0;
  }

  // Of the workers' weights.
  double consensus_distance() {
    backend::Context& context = session_.context;
    ops::consensus_distance<T>(context, session_.trained.weights.all(), consensus_distance_);
    return backend::to_host<double>(context, consensus_distance_.view()).front();
  }

  // At the rate of this process so far, evaluations and checkpoints included.
  double time_left() const {
    const auto left = static_cast<double>(session_.plan.total_blocks() - state_.position) *
                      static_cast<double>(session_.settings.model.context_length);
    return left / rate(piece_tokens_, state_.seconds.elapsed() - elapsed_before_);
  }

  // At the end of an epoch that was not evaluated yet: evaluation and checkpoint. False when the
  // evaluation was stopped.
  bool finish_epoch() {
    const EpochPlan& plan = session_.plan;
    const int64_t epoch = plan.completed_epochs(state_.position);
    if (epoch == state_.evaluated_epochs) return true;
    evaluated_.refresh();
    const auto result = evaluate("evaluation", [&](const EvaluationProgress& progress) {
      return evaluator_.run(session_.subset, session_.cache.validation_complete(), progress);
    });
    if (!result) return false;
    check_finite("evaluation", *result);
    const EvaluationRecord record{epoch, state_.step, tokens(), *result};
    state_.evaluated_epochs = epoch;
    state_.last_evaluation = record;
    log_.info("epoch {}/{}: validation loss {:.4f}, perplexity {:.2f}, {} targets in {}", epoch,
              plan.epochs(), result->loss, result->perplexity, result->targets,
              human_duration(result->seconds));
    Json line = {{"type", kEvaluationLine}};
    line.update(to_json(record));
    metrics_.append(line);
    if (!state_.best || record.result.loss < state_.best->result.loss) {
      state_.best = record;
      write_json(session_.directory.file("best.json"), to_json(record));
    }
    if (checkpoints_.keeps_epoch(epoch)) {
      checkpoint([&] {
        return checkpoints_.save_epoch(epoch, state_, session_.trained, evaluated_.weights());
      });
    }
    return true;
  }

  // Final checkpoint, then the whole validation split: a stop between them loses no update.
  TrainOutcome finish() {
    evaluated_.refresh();
    if (checkpoints_.keeps_states()) {
      checkpoint([&] {
        return checkpoints_.save_final(session_.plan.epochs(), state_, session_.trained,
                                       evaluated_.weights());
      });
    }
    data::ValidationStream stream(session_.cache, session_.settings.model.context_length);
    const auto result = evaluate("validation", [&](const EvaluationProgress& progress) {
      return evaluator_.run(stream, session_.cache.validation_complete(), progress);
    });
    if (!result) return stopped();
    check_finite("validation", *result);
    const EvaluationRecord record{session_.plan.epochs(), state_.step, tokens(), *result};
    Json line = {{"type", kValidationLine}};
    line.update(to_json(record));
    metrics_.append(line);
    write_result(*result);
    log_.finish_progress();
    log_.info("finished: validation loss {:.4f} on {} targets{}, {} in all", result->loss,
              result->targets, result->validation_complete ? "" : " of an incomplete split",
              human_duration(state_.seconds.startup + state_.seconds.elapsed()));
    return {true, state_, result};
  }

  void write_result(const EvaluationResult& validation) {
    const RunSeconds& seconds = state_.seconds;
    write_json(session_.directory.file("result.json"),
               {{"step", state_.step},
                {"tokens", tokens()},
                {"epochs", session_.plan.epochs()},
                {"workers", workers()},
                {"parameters", session_.trained.weights.layout().size()},
                {"train_loss", state_.train_loss ? json_number(*state_.train_loss) : Json(nullptr)},
                {"validation", to_json(validation)},
                {"last", state_.last_evaluation ? to_json(*state_.last_evaluation) : Json(nullptr)},
                {"best", state_.best ? to_json(*state_.best) : Json(nullptr)},
                {"tokens_per_second", json_number(rate(tokens(), seconds.training))},
                {"elapsed_tokens_per_second", json_number(rate(tokens(), seconds.elapsed()))},
                {"seconds", to_json(seconds)},
                {"peak_memory_bytes", peak_memory_bytes()}});
  }

  // Called before anything of the result is written.
  void check_finite(const char* what, const EvaluationResult& result) const {
    if (std::isfinite(result.loss)) return;
    fail(ErrorKind::kNumeric, "the loss of the {} after {} updates is {}: the weights are broken",
         what, state_.step, result.loss);
  }

  template <class Work>
  std::optional<EvaluationResult> evaluate(const char* what, Work work) {
    const AddSeconds timer(state_.seconds.evaluation);
    ++session_.trained.counters.evaluations;
    return work([&](int64_t done, int64_t total) {
      log_.progress(fmt::format("{}: {} of {} sequences", what, done, total));
      return stop_() == 0;
    });
  }

  template <class Save>
  void checkpoint(Save save) {
    const AddSeconds timer(state_.seconds.checkpoints);
    const std::string name = save();
    log_.info("step {}: wrote {}", state_.step, name);
  }

  TrainOutcome stopped() {
    log_.finish_progress();
    log_.info("signal {}: stopping after {} updates", stop_(), state_.step);
    if (checkpoints_.keeps_states()) {
      checkpoint([&] { return checkpoints_.save_latest(state_, session_.trained); });
      log_.info("the run can be continued with --resume auto");
    } else {
      log_.warn("training.checkpoint_policy is none: the work of this run is lost");
    }
    return {false, state_, std::nullopt};
  }

  Stopwatch startup_;
  Log& log_;
  std::function<int()> stop_;
  Session<T> session_;
  Stopwatch ready_;  // since data and weights are ready
  UpdateRunner<T> runner_;
  EvaluatedModel<T> evaluated_;
  Evaluator<T> evaluator_;
  backend::Tensor<double> consensus_distance_;  // [1, 1, 1]
  Checkpoints checkpoints_;
  MetricsFile metrics_;
  RunState& state_;
  UpdateBatch batch_;

  bool first_update_ = true;
  int64_t window_tokens_ = 0;  // since the last line of metrics
  double window_seconds_ = 0;
  int64_t piece_tokens_ = 0;  // of this process
  double training_before_ = state_.seconds.training;
  double elapsed_before_ = state_.seconds.elapsed();
};

}  // namespace

TrainOutcome run_training(const config::Settings& settings, const TrainOptions& options, Log& log) {
  if (settings.runtime.dtype == config::Precision::kFloat64) {
    return Trainer<double>(settings, options, log).run();
  }
  return Trainer<float>(settings, options, log).run();
}

}  // namespace saddle::train
