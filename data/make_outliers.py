#!/usr/bin/env python3
"""Writes outliers_train.csv and outliers_test.csv: a smooth curve whose noise has outliers, after Neal (1997).

x ~ N(0, 1), f(x) = 0.3 + 0.4 x + 0.5 sin(2.7 x) + 1.1 / (1 + x^2), and y = f(x) + e with e ~ N(0, 0.1^2), but e ~ N(0, 1)
for one row in ten. Run it in this folder; the seed fixes every number.
"""

import math
import random

rng = random.Random(1997)


def curve(x):
    return 0.3 + 0.4 * x + 0.5 * math.sin(2.7 * x) + 1.1 / (1.0 + x * x)


for name, rows in (("outliers_train.csv", 100), ("outliers_test.csv", 200)):
    with open(name, "w", encoding="utf-8") as out:
        out.write("x,y\n")
        for _ in range(rows):
            x = rng.normalvariate(0.0, 1.0)
            sd = 1.0 if rng.random() < 0.1 else 0.1
            out.write(f"{x:.4f},{curve(x) + rng.normalvariate(0.0, sd):.4f}\n")
