#pragma once
// Arguments of rows that several likelihoods share.

#include "gaussmith/sites.hpp"

namespace gaussmith::likelihoods {

inline SiteArgumentInfo exposure_argument() {
  return {.name = "exposure",
          .required = false,
          .default_value = 1.0,
          .help = "factor on the mean of each row",
          .role = ArgumentRole::exposure,
          .column = ArgumentColumn{"the exposure or expected count", "an exposure; numbers above 0 are accepted"}};
}

inline SiteArgumentInfo censored_argument() {
  return {.name = "censored",
          .kind = ArgumentKind::flag,
          .required = false,
          .default_value = 0.0,
          .help = "1 where the time is a lower limit",
          .role = ArgumentRole::censoring,
          .column =
              ArgumentColumn{"1 for censored rows, else 0", "a censoring flag; 0 (seen) or 1 (censored) are accepted"}};
}

}  // namespace gaussmith::likelihoods
