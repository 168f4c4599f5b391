#!/usr/bin/env bash
# A tour of the tool on the data in data/: binary classification, counts with exposure, robust regression, a mixed model,
# several classes. It prints every command before running it, takes a few seconds, and leaves models, predictions and
# reports in build/tour/.
#   scripts/tour.sh         uses build/bin/gaussmith
#   scripts/tour.sh TOOL    uses another build of it
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

tool="${1:-build/bin/gaussmith}"
out=build/tour
if [[ ! -x "$tool" ]]; then
  echo "tour: $tool is not there; build it first with: bash scripts/quickstart.sh" >&2
  exit 1
fi
mkdir -p "$out"

heading() { printf '\n== %s\n' "$1"; }

say() { printf '%s\n' "$@"; }

# gaussmith ARGUMENTS...: prints the command as one would type it, then runs it.
gaussmith() {
  local shown='' word
  for word in "$@"; do
    case "$word" in
      *[\ \(\)\|\*]*) shown+=" \"$word\"" ;;
      *) shown+=" $word" ;;
    esac
  done
  printf '\n$ gaussmith%s\n' "$shown"
  "$tool" "$@" 2>&1
}

# brief PATTERN ARGUMENTS...: the same with only the lines that match, and the whole report in a file.
brief() {
  local pattern="$1" report="$out/report.txt"
  shift
  gaussmith "$@" >"$report" || {
    cat "$report" >&2
    exit 1
  }
  cat "$report" >>"$out/reports.txt"
  sed -nE "1,2p;/^($pattern)/p" "$report"
}
: >"$out/reports.txt"

heading '1. Binary classification: benign or malignant, from nine properties of a cell sample'
say 'A Gaussian process with a probit likelihood. Learning finds one length-scale a feature: the shorter, the more the' \
  'feature matters. Weak hyperpriors keep those that hardly matter from drifting to infinity.'
gaussmith fit --data data/breast_cancer_train.csv --target diagnosis --likelihood bernoulli-probit \
  --kernel se-ard --standardize --learn --hyperpriors weak --save "$out/diagnosis.gsm"
say '' 'New rows, from the saved model alone; then how good such predictions are on 341 rows it has not seen.'
gaussmith predict --model "$out/diagnosis.gsm" --data data/breast_cancer_test.csv --output "$out/diagnosis.csv"
head -n 4 "$out/diagnosis.csv"
gaussmith evaluate --model "$out/diagnosis.gsm" --data data/breast_cancer_test.csv

heading '2. Counts with exposure: lip cancer in 56 Scottish districts'
say 'The latent function is the logarithm of the risk relative to the expected count of each district, as a function of' \
  'the share of people who work outdoors. Is the spread of the counts that of a Poisson distribution, or wider? Reports' \
  'are shortened from here on.'
for likelihood in poisson negative-binomial; do
  brief 'Evidence|Parameters|  ' fit --data data/lip_cancer.csv --target observed --exposure expected \
    --features aff_pct --likelihood "$likelihood" --kernel se --learn --save "$out/lip-$likelihood.gsm"
  brief 'Coverage' evaluate --model "$out/lip-$likelihood.gsm" --data data/lip_cancer.csv
done
say '' 'Wider: the evidence says so, and only then do the intervals hold the share of the rows that they should. (These are' \
  'the rows of the fit; there are too few to set some apart.)'

heading '3. Robust regression: a curve with outliers in one row of ten'
say 'Gaussian noise (exact inference) against Student-t noise (Laplace), judged on 200 rows that were set apart.'
for likelihood in gaussian student-t; do
  brief 'Evidence|Parameters|  ' fit --data data/outliers_train.csv --target y --likelihood "$likelihood" \
    --kernel se --learn --save "$out/curve-$likelihood.gsm"
  brief 'Scores|Coverage' evaluate --model "$out/curve-$likelihood.gsm" --data data/outliers_test.csv
done
say '' 'Under Student-t noise the same curve is worth more evidence and predicts new rows with a higher density.'

heading '4. Repeated measurements: reaction times of 18 people over ten days with little sleep'
say 'Everyone has a level and a slope of their own; the formula is that of lme4. Standard errors of the parameters come from' \
  'the curvature of the evidence; coefficients are on the scale of the table.'
brief 'Evidence|Learning|Parameters|Coefficients|Groups|  ' fit --data data/sleepstudy.csv \
  --formula 'reaction ~ days + (days|subject)' --likelihood gaussian --learn --save "$out/sleep.gsm"
heading '5. Several classes: three species of iris, from four measurements of the flower'
say 'One latent function a class under a softmax. The method kl gives a guaranteed lower bound on the evidence.'
brief 'Evidence|Learning|Parameters|Training|  ' fit --data data/iris_train.csv --target species \
  --likelihood multinomial-logit --kernel se-ard --method kl --learn --hyperpriors weak --save "$out/iris.gsm"
brief 'Scores|Bounds|Calibration|Confusion|  ' evaluate --model "$out/iris.gsm" --data data/iris_test.csv
rm -f "$out/report.txt"
say '' "Models, predictions and whole reports are in $out/. Next: export PATH=\"\$PWD/build/bin:\$PATH\", then gaussmith fit --help; README.md, docs/."
