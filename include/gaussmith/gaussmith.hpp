#pragma once
// The whole library.

#include "gaussmith/errors.hpp"
#include "gaussmith/files.hpp"
#include "gaussmith/infer.hpp"
#include "gaussmith/kernel_expression.hpp"
#include "gaussmith/kernels.hpp"
#include "gaussmith/learn.hpp"
#include "gaussmith/model.hpp"
#include "gaussmith/predict.hpp"
#include "gaussmith/random.hpp"
#include "gaussmith/report.hpp"
#include "gaussmith/scores.hpp"
#include "gaussmith/sites.hpp"
#include "gaussmith/table_model.hpp"
#include "gaussmith/tables.hpp"
#include "gaussmith/types.hpp"
#include "gaussmith/version.hpp"
