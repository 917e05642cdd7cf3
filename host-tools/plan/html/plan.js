// SPDX-License-Identifier: Apache-2.0
// The page of a plan: its JSON, charts and sections.

const data = JSON.parse(byId("data").textContent);
const params = data.params, systems = data.systems, best = data.configurations[0];
const PARTS = Object.keys(best.part_ms);
const WORDS = {attention: "attention", ffn: "FFN and shared experts", experts: "experts", pointwise: "pointwise", head: "head",
    recompute: "recomputation", moe: "MoE communication", tensor: "tensor parallelism", context: "context parallelism",
    send: "between stages", bubble: "bubble", gradients: "gradients", optimizer: "optimizer"};
const SIZES = [["tp", "tp"], ["cp", "cp"], ["ep", "ep"], ["pp", "pp"], ["dp", "dp"], ["virtual_stages", "virtual stages"],
    ["micro_batch", "micro-batch"]];
// A figure of the JSON by its place there (a JSON Pointer).
const at = (pointer) => pointer.split("/").slice(1).reduce((value, key) => value?.[key], data);
const ms = (value) => decimal(value, 3);
// What is beyond the calibrated ranges has a mark; `reasons` says of what, in all systems and configurations.
const mark = (one) => one.extrapolated ? " *" : "";
const reasons = [...new Set([...systems, ...data.configurations].flatMap((s) => s.extrapolated_by.split(", ")).filter(Boolean))];
const note = (list) => list.some((one) => one.extrapolated)
    ? el("p", {class: "extrapolated"}, "* extrapolated beyond the calibrated ranges: " + reasons.join(", ")) : null;
const colour = (name) => "s" + systems.findIndex((s) => s.system === name) % 10;

// ---- systems ----

// The parts of a step one behind the other.
function partsBar(s, most) {
    let from = 0;
    const rects = PARTS.filter((key) => s.part_ms[key] > 0).map((key) => {
        const x = from;
        from += s.part_ms[key];
        return svg("rect", {class: "p" + PARTS.indexOf(key), x: share(100 * x / most), y: 4, height: 20,
                            width: share(100 * s.part_ms[key] / most)}, svg("title", {}, `${WORDS[key]}: ${ms(s.part_ms[key])} ms`));
    });
    return chart(28, `${s.system}: ${ms(s.ms)} ms, most of it ${WORDS[s.limit]}`, rects);
}

function compare() {
    const most = Math.max(...systems.map((s) => s.ms)), base = systems[0];
    const used = PARTS.filter((key) => systems.some((s) => s.part_ms[key] > 0));
    const heads = ["system", "parts of the step", "ms", `times as fast as ${base.system}`, "tokens/s of a GPU", "MFU"];
    const rows = systems.map((s, i) => el("tr", {class: s.ms === best.ms ? "best" : null},
        el("th", {scope: "row"}, swatch(colour(s.system)), s.system + mark(s)),
        el("td", {class: "chart"}, partsBar(s, most)), figure(`/systems/${i}/ms`, ms), el("td", {}, times(base.ms / s.ms)),
        figure(`/systems/${i}/tokens_per_s_per_gpu`, (value) => decimal(value, 1)), figure(`/systems/${i}/mfu`, percent)));
    return [legend(used.map((key) => ["p" + PARTS.indexOf(key), WORDS[key]])),
        el("table", {class: "compare"}, el("thead", {}, el("tr", {}, heads.map((text) => el("th", {scope: "col"}, text)))),
           el("tbody", {}, rows)),
        note(systems),
        figures("parts of the step of each system, ms", ["system", ...used.map((key) => WORDS[key])],
            () => systems.map((s, i) => [s.system, used.map((key) => figure(`/systems/${i}/part_ms/${key}`, ms))]))];
}

// ---- the timeline ----

// When each micro-batch passes each stage: 1F1B, or forward alone. Returns {stage, batch, back, from, to}.
function schedule(stages, batches, forward, backward) {
    const done = {}, free = Array(stages).fill(0), list = [];
    const orders = Array.from({length: stages}, (_, stage) => {
        const order = [], ahead = backward ? Math.min(batches, stages - stage) : batches;
        for (let f = 0, b = 0; f < batches || (backward && b < batches);)
            if (f < batches && (f < ahead || f - b < ahead))
                order.push([f++, false]);
            else
                order.push([b++, true]);
        return order;
    });
    const key = (stage, batch, back) => `${stage} ${batch} ${back}`;
    const next = Array(stages).fill(0);
    for (let left = orders.reduce((sum, o) => sum + o.length, 0), moved = true; left && moved;) {
        moved = false;
        orders.forEach((order, stage) => {
            const job = order[next[stage]];
            if (!job)
                return;
            const [batch, back] = job, before = back ? stage + 1 : stage - 1;
            const ready = before < 0 ? 0 : before === stages ? done[key(stage, batch, false)] : done[key(before, batch, back)];
            if (ready === undefined)
                return;
            const from = Math.max(free[stage], ready), to = from + (back ? backward : forward);
            done[key(stage, batch, back)] = free[stage] = to;
            list.push({stage, batch, back, from, to});
            next[stage]++;
            left--;
            moved = true;
        });
    }
    return list;
}

function step() {
    const ROW = 18, batches = params.batch / best.dp / best.micro_batch, shown = Math.min(batches, 3 * best.pp + 4, 64);
    if (best.pp > 64)
        return [];
    const list = schedule(best.pp, shown, best.forward_ms, best.backward_ms), end = Math.max(...list.map((job) => job.to));
    const rects = list.map((job) => svg("rect", {class: job.back ? "down" : "up", x: share(100 * job.from / end),
        y: ROW * job.stage + (job.back ? 9 : 1), width: share(100 * (job.to - job.from) / end), height: 7, stroke: "var(--card)"},
        svg("title", {}, `stage ${job.stage}, micro-batch ${job.batch}, ${job.back ? "backward" : "forward"}: ` +
            `${ms(job.from)} to ${ms(job.to)} ms`)));
    const names = Array.from({length: best.pp}, (_, stage) => label(0, ROW * stage + 13, `stage ${stage}`));
    const height = ROW * best.pp, text = `${shown} of ${batches} micro-batches in ${best.pp} stages take ${ms(end)} ms`;
    return [legend([["up", "forward"], ["down", "backward"]].slice(0, best.backward_ms ? 2 : 1)),
        el("figure", {}, el("figcaption", {}, text), el("div", {class: "scaled"}, chart(height, null, names),
            chart(height, text, svg("rect", {class: "ground", x: 0, y: 0, width: "100%", height}), rects)))];
}

// ---- configurations ----

function configurations() {
    const list = data.configurations, memory = Object.keys(best.memory_gb);
    const place = (i) => `/configurations/${i}`;
    return [el("p", {class: "headline"}, `${digits(data.configurations_tried)} configurations, of which ` +
            `${digits(data.configurations_too_large)} do not fit ${decimal(params.memory_gbytes, 1)} GB.`),
        table("The fastest configurations", ["number", "<system", "ms", "tokens/s of a GPU", "MFU", ...SIZES.map(([, name]) => name),
            "<recomputation", "<limit", "memory, GB"],
            list.map((s, i) => [i + 1 + mark(s), figure(`${place(i)}/system`), figure(`${place(i)}/ms`, ms),
                figure(`${place(i)}/tokens_per_s_per_gpu`, (value) => decimal(value, 1)), figure(`${place(i)}/mfu`, percent),
                SIZES.map(([key]) => figure(`${place(i)}/${key}`)), figure(`${place(i)}/recompute`), cell(WORDS[s.limit]),
                cell(decimal(memory.reduce((sum, key) => sum + s.memory_gb[key], 0), 1))])),
        note(list),
        figures("memory of each configuration, GB", ["number", ...memory],
            () => list.map((_, i) => [String(i + 1), memory.map((key) => figure(`${place(i)}/memory_gb/${key}`, ms))]))];
}

// ---- speed-ups ----

function speedups(name, axisName) {
    const HEIGHT = 220, FOOT = 20, list = data[name];
    if (!list || list.length < 2)
        return [];
    const base = systems[0].system, of = (one, s) => one.ms[base] / one.ms[s.system];
    const top = Math.max(1.1, ...list.flatMap((one) => systems.map((s) => of(one, s)))), step = stepOf(top, 5);
    const x = (i, width) => width * (i + 0.5) / list.length, y = (value) => HEIGHT * (1 - value / top);
    const grid = [], scale = [];
    for (let value = 0; value <= top; value += step) {
        grid.push(svg("line", {class: "grid", x1: 0, x2: "100%", y1: y(value), y2: y(value)}));
        scale.push(label("100%", y(value) + 4, Number(value.toPrecision(3)), "end"));
    }
    list.forEach((one, i) => grid.push(label(share(x(i, 100)), HEIGHT + 14, (i ? "" : axisName + " ") + digits(one.value) + mark(one),
        "middle")));
    const lines = systems.map((s) => svg("path", {class: "line " + colour(s.system),
        d: "M" + list.map((one, i) => `${x(i, 1000).toFixed(1)} ${y(of(one, s)).toFixed(1)}`).join("L")},
        svg("title", {}, s.system)));
    return [legend(systems.map((s) => [colour(s.system), s.system])),
        el("div", {class: "scaled"}, chart(HEIGHT + FOOT, null, scale),
           chart(HEIGHT + FOOT, `How many times as fast as ${base} each system is`, grid, stretched(HEIGHT, lines))),
        note(list),
        figures("ms of each system", [axisName, ...systems.map((s) => s.system)],
            () => list.map((one, i) => [one.value + mark(one), systems.map((s) => figure(`/${name}/${i}/ms/${s.system}`, ms))]))];
}

const gpus = () => speedups("by_gpus", "GPUs");
const k = () => speedups("by_k", "k");

// ---- the plan ----

function rowsOf(place, value) {
    return Object.entries(value).flatMap(([key, item]) => item !== null && typeof item === "object" ? rowsOf(`${place}/${key}`, item)
        : item === null ? [] : [[key.replaceAll("_", " "), figure(`${place}/${key}`)]]);
}

const run = () => [table("Assumptions", ["what", "<value"], rowsOf("/assumptions", data.assumptions)),
                   figures("parameters", ["parameter", "value"], () => rowsOf("/params", params))];

function head() {
    document.title = "moeswitch plan: " + plain(params.model.name);
    byId("title").append(plain(params.model.name), el("span", {}, `${params.goal} on ${digits(params.gpus)} GPUs, ${plain(params.hardware)}`));
    byId("trace").append(`communication of experts and tensor parallelism (${params.tp_system}): calibrated on the RTL; all else: ` +
        data.assumptions.compute);
    byId("chips").append(...[["batch", params.batch], ["sequence", params.sequence], ["GEMMs", params.gemm_type],
        ["dispatch", params.dispatch_type], ["schedule", params.schedule]].map(([name, value]) =>
            el("li", {}, name + " ", el("b", {}, digits(value)))));
    byId("tool").append(data.tool);
    byId("headline").append(el("b", {}, best.system), ` takes ${ms(best.ms)} ms, ` +
        `${times(systems[0].ms / best.ms)} times as fast as ${systems[0].system} at its best. Most of it is ${WORDS[best.limit]}.`);
}

head();
for (const [id, make] of Object.entries({compare, step, configurations, gpus, k, run})) {
    const section = byId(id), made = make().flat(Infinity).filter(Boolean);
    section.hidden = !made.length;
    section.append(...made);
    if (made.length)
        byId("sections").append(el("li", {}, el("a", {href: `#${id}`}, section.querySelector("h2").textContent)));
}
