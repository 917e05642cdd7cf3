#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Constructs that lanes do not take: each must end sim/lanes/lanes.py with one line that names file, line and
construct, and says that plain takes it.

usage: refused.py VERILATOR FOLDER
"""
import pathlib
import re
import subprocess
import sys

MODULE = """// SPDX-License-Identifier: CERN-OHL-P-2.0
module sample (
    input  wire logic         clk_i,
    input  wire logic         other_i,
    input  wire logic         rst_ni,
    input  wire logic [31:0]  a_i,
    input  wire logic [31:0]  b_i,
    input  wire logic [99:0]  v_i,
    input  wire logic [99:0]  w_i,
    output logic [31:0]       x_o,
    output logic [99:0]       y_o
);
    always_ff @(posedge clk_i) y_o <= rst_ni ? w_i : v_i;
    {}
endmodule
"""
LINE = 14

# what stands on that line, and what must be said of it
CASES = [
    ("always_ff @(posedge clk_i or negedge rst_ni) if (!rst_ni) x_o <= '0; else x_o <= a_i;",
     r"an edge of rst_ni \(an asynchronous reset"),
    ("always_ff @(posedge other_i) x_o <= a_i;", r"an edge of other_i \(an asynchronous reset, or another clock"),
    ("always_ff @(negedge clk_i) x_o <= a_i;", r"the falling edge of clk_i"),
    ("always_ff @(posedge clk_i) x_o <= 32'((v_i * w_i) >> 40);", r"\* of more than 64 bits"),
    ("always_ff @(posedge clk_i) x_o <= 32'((v_i / w_i) >> 40);", r"/ of more than 64 bits"),
    ("always_ff @(posedge clk_i) x_o <= 32'((v_i % w_i) >> 40);", r"% of more than 64 bits"),
    ("always_ff @(posedge clk_i) x_o <= 32'($signed(v_i) >>> a_i[5:0]);", r">>> of more than 64 bits"),
    ("always_ff @(posedge clk_i) x_o[0] <= $signed(v_i) < $signed(w_i);",
     r"comparison of signed numbers of more than 64 bits"),
    ("always_ff @(posedge clk_i) x_o <= 32'($signed(a_i) / $signed(b_i));", r"/ of signed numbers"),
    ("always_ff @(posedge clk_i) x_o <= 32'($signed(a_i) % $signed(b_i));", r"% of signed numbers"),
    ("always_ff @(posedge clk_i) x_o <= a_i ** b_i[2:0];", r"\*\*"),
    ("always_ff @(posedge clk_i) x_o <= 32'($countbits(a_i, b_i[0]));", r"\$countbits"),
    ("always_ff @(posedge clk_i) x_o <= 32'($clog2(a_i));", r"\$clog2 of a variable"),
    ("always_ff @(posedge clk_i) x_o <= a_i ^ $urandom;", r"\$random, \$urandom"),
    ("logic [99:0] z_q; always_ff @(posedge clk_i) begin z_q[a_i[5:0]+:40] <= v_i[39:0]; x_o <= z_q[90:59]; end",
     r"a part of more than 32 bits written"),
    ("logic [99:0] z_q[8]; always_ff @(posedge clk_i) begin z_q[a_i[2:0]][b_i[5:0]+:9] <= v_i[8:0]; x_o <= "
     "z_q[b_i[2:0]][31:0]; end",
     r"a part of an element written"),
    ("logic [99:0] z_q; always_ff @(posedge clk_i) begin z_q <= -v_i; x_o <= z_q[40:9]; end",
     r"- of more than 64 bits"),
    ("always_ff @(posedge clk_i) x_o <= 32'((v_i << w_i) >> 3);", r"a shift by a number of more than 32 bits"),
    ("always_ff @(posedge clk_i) x_o <= 32'($signed(v_i[89:0]) + $signed(w_i[59:0]));",
     r"sign extension to more than 64 bits"),
    ("always_ff @(posedge clk_i) if (a_i == b_i) $finish;", r"\$finish"),
    ("always_ff @(posedge clk_i) x_o <= {<<4{a_i}};", r"streaming concatenation"),
    ("always_ff @(posedge clk_i) if (a_i == b_i) $fatal(1, \"both are %d\", a_i);", r"values in a message"),
    ("always_ff @(posedge clk_i) x_o <= 32'($rtoi($itor(a_i) * 1.5));", r"real numbers"),
]


def refused(verilator, folder, number, line):
    """what sim/lanes/lanes.py says of the module with that line"""
    here = folder / str(number)
    here.mkdir(parents=True, exist_ok=True)
    source = here / "sample.sv"
    source.write_text(MODULE.format(line))
    subprocess.run([*verilator, "--cc", "--prefix", "Vsample", "--top-module", "sample", "-O3", "--inline-cfuncs", "0",
                    "--decorations", "node",
                    "-Wno-lint", "-Wno-style", source, "--Mdir", here], check=True, capture_output=True)
    run = subprocess.run([sys.executable, "sim/lanes/lanes.py", "sample", here], capture_output=True, text=True)
    return run.returncode, run.stderr


def main():
    verilator, folder = sys.argv[1].split(), pathlib.Path(sys.argv[2])
    wrong = 0
    for number, (line, what) in enumerate([("always_ff @(posedge clk_i) x_o <= a_i + b_i;", None)] + CASES):
        status, said = refused(verilator, folder, number, line)
        if what is None:
            right = status == 0 and not said
        else:
            right = status == 1 and re.fullmatch(rf"{folder}/{number}/sample.sv:{LINE}: .*{what}.*BACKEND=plain does\n",
                                                 said)
        if not right:
            print(f"{line}\n    expected: {what}; status {status}: {said}")
            wrong += 1
    print(f"{len(CASES)} constructs, {wrong} wrong")
    sys.exit(wrong != 0)


if __name__ == "__main__":
    main()
