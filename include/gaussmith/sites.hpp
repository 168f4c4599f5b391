#pragma once
// Sites: the one-dimensional factors t_n(eta_n) of a model. Likelihoods and sparsity priors are the same thing here.
//
// A block of sites shares one likelihood. Engines call blocks, never single rows: one virtual call covers many rows,
// and the loop inside vectorises. Every engine needs only what stands in `SiteBlock`.

#include "gaussmith/class_probabilities.hpp"
#include "gaussmith/random.hpp"
#include "gaussmith/types.hpp"

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gaussmith {

/// Which responses y a likelihood accepts.
enum class ResponseKind {
  real,
  sign,
  count,
  positive,
  label  ///< A class, 0 to C - 1.
};

/// Some response that every likelihood of a kind accepts, for rows whose response is not known yet.
[[nodiscard]] inline double placeholder_response(ResponseKind kind) {
  return kind == ResponseKind::sign || kind == ResponseKind::positive ? 1.0 : 0.0;
}

/// What a likelihood promises about log t(eta).
struct SiteTraits {
  std::string name;
  ResponseKind response = ResponseKind::real;
  bool log_concave = false;     ///< (log t)'' <= 0 everywhere.
  bool super_gaussian = false;  ///< t(eta) = exp(beta s + g(s^2)), s = eta - centre, g convex and decreasing.
  bool smooth = true;           ///< Three continuous derivatives; false with kinks or jumps.
  bool gaussian = false;        ///< log t is a quadratic: every engine is exact.
  bool star = false;            ///< Curvature diag(pi) - pi pi'/1'pi with pi >= 0, one for each of several latents.
  bool any_thread = true;       ///< May be called from several threads at once; else only on the thread of the caller.
  std::vector<std::string> methods = {};  ///< Of several latents: the methods that take it.
};

/// One parameter of a block: a value for all rows, or one for each row.
struct SiteParameter {
  std::string name;
  Vector values;   ///< Size 1 (shared) or the number of rows.
  bool learnable;  ///< Positive, shared by all rows and continuous, so that evidence gradients exist in its logarithm.
};

/// Values of a likelihood's arguments by name, each of size 1 or the number of rows.
using SiteArguments = std::map<std::string, Vector, std::less<>>;

/// Where a block call writes; an empty span is not computed.
struct LogDensityOut {
  Span value, first, second, third;  ///< log t and its derivatives in eta.
};
struct ExpectationOut {
  Span value, d_mean, d_variance;  ///< E[log t] under N(mean, variance) and its derivatives.
};
struct ConjugateOut {
  Span value, mean, deviation;  ///< f*, and the mean and standard deviation at which it is attained.
};
struct TiltedOut {
  Span log_normaliser, mean, variance;  ///< Moments of N(eta | mean, variance) t(eta)^power.
  /// Where given, raised by the number of rows whose integral did not reach the accuracy that tilted() promises.
  Index* inaccurate = nullptr;
};
struct BoundOut {
  Span value, first, second;  ///< g(x), g'(x), g''(x) at x = s^2 of the super-Gaussian form.
};
struct ParameterOut {
  Span value, first, second;  ///< d/d log(parameter) of log t, (log t)' and (log t)''.
};
struct ResponseOut {
  Span mean, variance, probability;  ///< Moments of y; P(y = 1). NaN where a moment does not exist.
};

/// How many randomisations of its points a SiteBlock::averaged_expectation tells apart.
inline constexpr Index expectation_replicates = 8;

/// One block of sites with its responses and parameters; immutable. `first` is the row at which a call starts and the
/// length of the spans says how many rows it covers.
///
/// A site may have several latents, width() = C of them: a row then has C consecutive numbers wherever one latent has
/// one, and C x C where one has a variance, a second derivative or a derivative in the variance.
/// Results are finite: an e^eta beyond e^700 is taken as e^700, so that log t and E[log t] stop near -1e304.
class SiteBlock {
 public:
  virtual ~SiteBlock() = default;

  [[nodiscard]] virtual const SiteTraits& traits() const = 0;
  [[nodiscard]] virtual const Vector& responses() const = 0;
  [[nodiscard]] virtual const std::vector<SiteParameter>& parameters() const = 0;
  [[nodiscard]] Index size() const { return responses().size(); }
  /// C, the number of latents of a row.
  [[nodiscard]] virtual Index width() const { return 1; }

  /// The same likelihood with new values for its arguments (missing ones keep theirs) and new responses. Used to learn
  /// parameters and to predict; validates like observe().
  [[nodiscard]] virtual std::shared_ptr<const SiteBlock> with(const Vector& responses,
                                                              const SiteArguments& arguments) const = 0;

  /// log t and derivatives. Non-smooth sites give one-sided values at a kink.
  virtual void log_density(Index first, ConstSpan eta, const LogDensityOut& out) const = 0;
  /// How the curvature changes: sum_ab covariance_ab d3 log t / d eta_a d eta_b d eta_k for every k. Sites with several
  /// latents give no third derivatives otherwise.
  virtual void curvature_slope(Index first, ConstSpan eta, ConstSpan covariance, Span out) const;
  /// pi of the curvature at eta, where traits().star.
  virtual void star(Index first, ConstSpan eta, Span out) const;

  /// E_{N(mean, variance)}[log t], accurate to 1e-9 (1 + |value|); variance >= 0 (0 gives back log_density). Of several
  /// latents a lower bound on it, where that is what has a closed form.
  virtual void expectation(Index first, ConstSpan mean, ConstSpan variance, const ExpectationOut& out) const = 0;

  /// The conjugate f*(slope, growth) = sup over m and s >= 0 of slope m + growth s - f(m, s) of
  /// f(m, s) = -E_{N(m, s^2)}[log t]: closed forms where there are any, otherwise Newton's method from the mean and
  /// deviation given. Infinity where no maximum is found, which for log-concave sites means outside its domain.
  virtual void conjugate(Index first, ConstSpan slope, ConstSpan growth, ConstSpan mean, ConstSpan deviation,
                         const ConjugateOut& out) const;
  /// The largest growth at which f*(slope, growth) is finite; infinite where none is known, negative where the slope is
  /// outside the domain.
  virtual void conjugate_limit(Index first, ConstSpan slope, Span out) const;

  /// Of several latents whose expectation() is a bound: the expectation itself when eta ~ N(mean, covariance), and for
  /// every row the absolute error vouched for.
  virtual void expected_log_density(Index first, ConstSpan mean, ConstSpan covariance, const ProbabilityGoal& goal,
                                    Span value, Span error) const;

  /// The same with derivatives, by a rule that is fixed but for the seed, so that it can be maximised: quadrature where
  /// that is cheap, otherwise averages over the same points in every call. `replicates` has expectation_replicates
  /// values a row, one for each of as many independent randomisations of the points, whose spread is the error; they
  /// agree where the rule is good to 1e-10 (1 + |value|). Derivatives are averages, too.
  virtual void averaged_expectation(Index first, ConstSpan mean, ConstSpan covariance, std::uint64_t seed,
                                    const ExpectationOut& out, Span replicates) const;

  /// Tilted moments with a power in (0, 1], accurate to 1e-9 (1 + |value|); variance > 0.
  virtual void tilted(Index first, ConstSpan mean, ConstSpan variance, double power, const TiltedOut& out) const = 0;

  /// Super-Gaussian form (only where traits().super_gaussian): g and derivatives at x >= 0.
  virtual void bound(Index first, ConstSpan x, const BoundOut& out) const = 0;
  /// Super-Gaussian form: slope beta and centre of every row.
  virtual void bound_shape(Index first, Span slope, Span centre) const = 0;

  /// Derivatives in the logarithm of parameters()[parameter], which must be learnable.
  virtual void parameter_derivatives(Index first, int parameter, ConstSpan eta, const ParameterOut& out) const = 0;
  /// E_{N(mean, variance)}[d log t / d log parameter].
  virtual void parameter_expectation(Index first, int parameter, ConstSpan mean, ConstSpan variance,
                                     Span out) const = 0;
  /// The same expectation under the tilted distribution N(mean, variance) t^power.
  virtual void parameter_tilted(Index first, int parameter, ConstSpan mean, ConstSpan variance, double power,
                                Span out) const = 0;

  /// Moments of a new response at rows of this block when eta ~ N(mean, variance).
  virtual void response(Index first, ConstSpan mean, ConstSpan variance, const ResponseOut& out) const = 0;
  /// P(Y <= y) when eta ~ N(mean, variance).
  virtual void response_cdf(Index first, ConstSpan mean, ConstSpan variance, ConstSpan y, Span out) const = 0;
  /// Quantile of the response at a level in (0, 1); for discrete responses the smallest y with P(Y <= y) >= level.
  virtual void response_quantile(Index first, ConstSpan mean, ConstSpan variance, double level, Span out) const = 0;
  /// Of labels: the probability of every class, C numbers a row, when eta ~ N(mean, covariance), and for every row the
  /// absolute error vouched for.
  virtual void class_probabilities(Index first, ConstSpan mean, ConstSpan covariance, const ProbabilityGoal& goal,
                                   Span probability, Span error) const;
  /// One draw of the response per row at given eta.
  virtual void response_sample(Index first, ConstSpan eta, Random& random, Span out) const = 0;
};

using Sites = std::shared_ptr<const SiteBlock>;

/// A block of a catalogued likelihood: observe("student-t", y, {{"nu", one(4)}, {"scale", one(0.3)}}).
/// The same names and arguments as in problem files and on the command line. Throws InvalidModel with row and cause.
[[nodiscard]] Sites observe(std::string_view likelihood, const Vector& responses, const SiteArguments& arguments = {});

/// A single shared value for SiteArguments.
[[nodiscard]] inline Vector one(double value) { return Vector::Constant(1, value); }

/// Which values an argument accepts; all are finite.
enum class ArgumentKind {
  positive,  ///< Greater than zero.
  count,     ///< A positive whole number.
  flag,      ///< 0 or 1.
  bound,     ///< A PiecewiseBound as a number, or 0 for none.
};

/// What an argument means to those who make models of data. A new role is one for which they do something new.
enum class ArgumentRole {
  general,         ///< Nothing that they need to know: a shape, degrees of freedom, trials.
  noise_scale,     ///< Grows with the spread of the responses.
  noise_variance,  ///< Grows with its square.
  exposure,        ///< A factor on the mean of the response.
  censoring        ///< 1 where a response is a lower limit: says how it was recorded, nothing about new responses.
};

/// How a table gives an argument by row.
struct ArgumentColumn {
  std::string holds;  ///< For help, after "Column with": "the number of trials".
  std::string cell;   ///< For a wrong cell, after "is not": "a number of trials; integers from 1 on are accepted".
};

/// One argument of a catalogued likelihood.
struct SiteArgumentInfo {
  std::string name;
  ArgumentKind kind = ArgumentKind::positive;
  bool required = true;
  double default_value = 0.0;  ///< Of one that is not required, for new rows, too.
  bool learnable = false;
  std::string help;
  ArgumentRole role = ArgumentRole::general;
  double starting_value = 1.0;  ///< Of one that is required and learnable, where nothing sets it.
  std::optional<ArgumentColumn> column = std::nullopt;  ///< Empty: a table cannot give it by row.
};

/// How the mean of the response follows from eta.
enum class Link {
  identity,  ///< It is eta, or where there is no mean, eta is the centre.
  log,       ///< It is exp(eta) times the exposure.
  rate,      ///< exp(eta) is the rate at which something happens; the mean time until it does falls with it.
  other
};

/// One line of `gaussmith likelihoods`.
struct LikelihoodInfo {
  SiteTraits traits;
  std::string formula;
  std::string summary;
  std::vector<SiteArgumentInfo> arguments;
  Link link = Link::other;

  /// The argument of that name; null if there is none.
  [[nodiscard]] const SiteArgumentInfo* find(std::string_view argument) const;
};

/// Everything observe() knows.
[[nodiscard]] const std::vector<LikelihoodInfo>& likelihood_catalogue();

/// The catalogue's line of a likelihood; null if it has none.
[[nodiscard]] const LikelihoodInfo* find_likelihood(std::string_view name);

/// The catalogue's line of a likelihood. Throws InvalidModel naming those that are known.
[[nodiscard]] const LikelihoodInfo& likelihood_info(std::string_view name);

/// The catalogue's line of an argument of these sites; null for sites that are not in the catalogue.
[[nodiscard]] const SiteArgumentInfo* find_argument(const SiteBlock& sites, std::string_view argument);

/// 1 for the rows whose response is a lower limit, else 0; empty where the likelihood knows no censoring.
[[nodiscard]] Vector censored_rows(const SiteBlock& sites);

/// Rows of blocks that know censoring: with an event, and without. Both 0 where none does.
struct EventCounts {
  Index events = 0, censored = 0;
};
[[nodiscard]] EventCounts count_events(const std::vector<std::shared_ptr<const SiteBlock>>& blocks);

/// An argument that tables give by row, and the likelihoods that take it.
struct ColumnArgument {
  const SiteArgumentInfo* info;
  std::vector<std::string> likelihoods;
};

/// All such arguments in the order of the catalogue, each name once: it means the same to every likelihood.
[[nodiscard]] const std::vector<ColumnArgument>& column_arguments();

/// The one of that name; null if there is none.
[[nodiscard]] const SiteArgumentInfo* find_column_argument(std::string_view name);

/// A likelihood given by log t(eta; y) alone.
struct CustomLikelihood {
  std::string name = "custom";
  /// log t(eta) for response y; finite for every finite eta. May have kinks or jumps.
  std::function<double(double eta, double y)> log_density;
  /// Points in eta where log t has a kink or a jump, for response y. Optional: unknown ones are found by bisection.
  std::function<std::vector<double>(double y)> kinks = {};
  bool log_concave = false;
  bool smooth = false;  ///< Promise of three continuous derivatives; then the Laplace engine accepts it.
  /// The functions may be called from several threads at once; otherwise they are called on the thread of the caller.
  bool any_thread = true;
  /// (log t)', (log t)'', (log t)''' in eta. Optional: without it a smooth site uses central differences of log t, good
  /// to about 1e-11, 1e-9 and 1e-7 of the variation of log t over `width`.
  std::function<std::array<double, 3>(double eta, double y)> derivatives = {};
  /// Where log t varies, e.g. near y on the scale `width`; helps the quadrature to find narrow features.
  std::function<double(double y)> centre = {};
  double width = 1.0;
  /// Super-Gaussian form, which vb needs: g(x) and g'(x) for x >= 0 with log t = slope(y) s + g(s^2), s = eta -
  /// centre(y), where g is convex and decreasing. log_density may then be left empty. Both are compared at some points,
  /// and g is looked at there.
  std::function<std::array<double, 2>(double x, double y)> bound = {};
  std::function<double(double y)> slope = {};  ///< None: zero.
};

/// A likelihood whose log t is a quadratic in s = eta - y on each of several intervals; it may jump and bend between
/// them. Gaussian expectations are exact.
struct PiecewiseQuadratic {
  /// log t = constant + slope s + square s^2.
  struct Piece {
    double constant = 0.0, slope = 0.0, square = 0.0;
  };
  std::string name = "piecewise-quadratic";
  std::vector<double> breaks = {};  ///< In s, increasing; at a break the piece to its right holds.
  std::vector<Piece> pieces = {};   ///< One more than breaks, left to right; the outer ones have square <= 0.
};

/// A likelihood of several latents a row, given by log t and its derivatives; the laplace method takes it.
struct CustomJointLikelihood {
  std::string name = "custom";
  Index latents = 2;
  /// log t(eta; y) for the latents of one row; finite for every finite eta.
  std::function<double(ConstSpan eta, double y)> log_density;
  /// Its gradient and its Hessian, latents x latents numbers.
  std::function<void(ConstSpan eta, double y, Span gradient, Span hessian)> derivatives;
  bool log_concave = false;
  /// The functions may be called from several threads at once; otherwise they are called on the thread of the caller.
  bool any_thread = true;
};
[[nodiscard]] Sites observe(CustomJointLikelihood likelihood, const Vector& responses);

/// An upper bound on log(1 + e^x) in pieces, all with the same largest error; exact integrals in place of those of the
/// logistic function (docs/sites.md). observe("bernoulli-logit", y, {{"bound", one(bound.code())}}) takes it.
struct PiecewiseBound {
  bool quadratic = true;  ///< Or linear.
  int pieces = 20;        ///< From 3 to 20.

  /// "linear:R" or "quadratic:R". Throws InvalidModel on anything else.
  [[nodiscard]] static PiecewiseBound parse(std::string_view text);
  [[nodiscard]] static PiecewiseBound from_code(double code);
  /// The same as text and as the value of a numeric argument: -R, or R where the pieces are quadratic.
  [[nodiscard]] std::string text() const;
  [[nodiscard]] double code() const { return quadratic ? pieces : -pieces; }
  /// The largest error.
  [[nodiscard]] double error() const;
  /// log t(s) = -(the bound at -s), a site to use as it is.
  [[nodiscard]] PiecewiseQuadratic sites() const;
};

/// A block of piecewise quadratic sites.
[[nodiscard]] Sites observe(PiecewiseQuadratic likelihood, const Vector& responses);

/// A block of custom sites; everything but log t comes from derivative-free quadrature and central differences.
[[nodiscard]] Sites observe(CustomLikelihood likelihood, const Vector& responses);

}  // namespace gaussmith
