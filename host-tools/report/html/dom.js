// SPDX-License-Identifier: Apache-2.0
// Elements, words and figures of the page. Text from outside goes in as text nodes, never as markup.

const SVG = "http://www.w3.org/2000/svg";

// ---- words and figures ----

// Text as the tool shows it elsewhere, too: control characters and those that are none become U+FFFD.
const plain = (text) => String(text).replace(/[\p{Cc}\p{Noncharacter_Code_Point}\u2028\u2029]/gu, "\ufffd");
// A number, the digits before its point in groups of three. Whole ones above 2^53 are strings in the JSON.
const digits = (value) => String(value).replace(/\d+/, (whole) => whole.replace(/\B(?=(\d{3})+$)/g, "\u202f"));

function decimal(value, decimals) {
    const [whole, rest] = Math.abs(value).toFixed(decimals).split(".");
    return (value < 0 ? "\u2212" : "") + digits(whole) + (rest ? "." + rest : "");
}

const percent = (share) => decimal(100 * share, 1) + " %";
const times = (value) => decimal(value, 3);

// The number of an axis: 20 000 is "20 k".
function tick(value) {
    const units = ["", " k", " M", " G", " T"];
    let unit = 0;
    for (; value >= 10000 && unit + 1 < units.length; unit++)
        value /= 1000;
    return digits(Number(value.toPrecision(4))) + units[unit];
}

// A distance of 1, 2 or 5 times a power of ten, so that an axis from 0 to `most` has at most `ticks`.
function stepOf(most, ticks) {
    const least = most / ticks || 1, power = 10 ** Math.floor(Math.log10(least));
    return power * [1, 2, 5, 10].find((part) => part * power >= least * 0.999999);
}

// ---- elements ----

function fill(node, attributes, children) {
    for (const [name, value] of Object.entries(attributes))
        if (value !== undefined && value !== null)
            node.setAttribute(name, typeof value === "number" ? Number(value.toFixed(3)) : value);
    node.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
    return node;
}

const el = (tag, attributes = {}, ...children) => fill(document.createElement(tag), attributes, children);
const svg = (tag, attributes = {}, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);
const byId = (id) => document.getElementById(id);
const share = (value) => value.toFixed(3) + "%"; // of the width

// A chart that its label describes; without a label it only decorates.
const chart = (height, label, ...children) =>
    svg("svg", label ? {height, role: "img", "aria-label": label} : {height, "aria-hidden": "true"}, ...children);
// What is drawn in it in units of its own, 1000 wide, and stretched to its width.
const stretched = (height, ...children) =>
    svg("svg", {x: 0, y: 0, width: "100%", height, viewBox: `0 0 1000 ${height}`, preserveAspectRatio: "none"}, ...children);
const label = (x, y, text, anchor) => svg("text", {x, y, "text-anchor": anchor}, text);
const swatch = (name) => el("i", {class: name});
const legend = (entries) =>
    el("ul", {class: "legend"}, entries.map(([name, text]) => el("li", {}, swatch(name), text)));

// An axis from 0 to `most` cycles, as wide as what it is in.
function axis(most) {
    const step = stepOf(most, 5), parts = [];
    for (let at = 0; at <= most * 0.97; at += step) {
        const x = share(100 * at / most);
        parts.push(svg("line", {class: "grid", x1: x, x2: x, y1: 0, y2: 5}),
                   label(x, 16, tick(at) + (at ? "" : " cycles"), at ? "middle" : "start"));
    }
    return chart(20, null, parts);
}

// ---- tables ----

const cell = (text) => el("td", typeof text === "string" ? {class: "left"} : {}, typeof text === "number" ? digits(text) : text);

// A figure of the JSON, named by its place there (a JSON Pointer, RFC 6901).
function figure(pointer, format) {
    const value = at(pointer);
    if (value === null || value === undefined)
        return el("td", {}, "-");
    const text = format ? format(value) : typeof value === "number" || /^\d+$/.test(value) ? digits(value) : plain(value);
    return el("td", {"data-json": pointer, class: format || typeof value === "number" ? null : "left"}, text);
}

// Rows are [name, cell, ...]. Texts of the columns whose heads begin with "<" are on the left.
function table(caption, heads, rows) {
    const head = heads.map((text, i) =>
        el("th", {scope: "col", class: i && text[0] !== "<" ? null : "left"}, text.replace("<", "")));
    const body = rows.map(([name, ...cells]) => el("tr", {}, el("th", {scope: "row"}, name), cells));
    return el("div", {class: "scroll", tabindex: 0, role: "region", "aria-label": caption},
              el("table", {}, el("caption", {}, caption), el("thead", {}, el("tr", {}, head)), el("tbody", {}, body)));
}

// What is made when it is opened for the first time.
function folded(title, make) {
    const details = el("details", {}, el("summary", {}, title));
    const open = () => details.open && details.children.length === 1 && details.append(make());
    details.addEventListener("toggle", open);
    return details;
}

const figures = (caption, heads, rows) => folded("Figures: " + caption, () => table(caption, heads, rows()));
