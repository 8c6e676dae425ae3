//! The graph as a picture: stages as bands from top to bottom, operators as boxes in them, and a legend.
//!
//! Everything is placed by whole numbers in the order of the nodes, so that the same job gives the same bytes
//! everywhere. Where things stand is decided in [`layout`].

mod layout;

use super::Topology;
use super::drawing::title;
use layout::{CHAR, LINE, Layout, Placed};

/// Colors are those of what a box is; the words in it say the same.
const STYLE: &str = "\
text{font:12px ui-monospace,Menlo,Consolas,monospace;fill:#1f2933}\
.h{font-weight:bold}.k{font-style:italic;fill:#7a4b00}.w{font-style:italic;fill:#a61b1b}.s{font-weight:bold;fill:#52606d}\
rect{stroke-width:1.2}.band{fill:#f5f7fa;stroke:#cbd2d9;stroke-dasharray:4 3}.op{fill:#fff;stroke:#9aa5b1}\
.port{fill:#e3f8ff;stroke:#1992d4}.state{fill:#fff3c4;stroke:#cb6e17}.impure{stroke:#a61b1b;stroke-width:2}\
path{fill:none;stroke:#616e7c;stroke-width:1.4}.key{stroke:#0a6c74;stroke-width:3}.b{fill:#0a6c74;font-weight:bold}";

pub(super) fn render(topology: &Topology) -> String {
    let layout = Layout::of(topology);
    let legend_y = layout.height;
    let heading = heading(topology);
    let legend = legend(legend_y);
    let (width, height) = (layout.width.max(LEGEND_WIDTH).max(8 * CHAR + heading.width), legend_y + 50);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"job {0}\">\n<style>{STYLE}</style>\n<defs>{1}{2}</defs>\n<rect width=\"{width}\" height=\"{height}\" fill=\"#fff\"/>\n",
        escaped(topology.job),
        arrow("a", "#616e7c"),
        arrow("b", "#0a6c74"),
    );
    out.push_str(&heading.svg);
    for (stage, band) in layout.bands.iter().enumerate() {
        let (x, y, w, h) = (10, band.top, width - 20, band.bottom - band.top);
        out.push_str(&format!(
            "<rect class=\"band\" x=\"{x}\" y=\"{y}\" width=\"{w}\" height=\"{h}\" rx=\"8\"/>\n"
        ));
        let label = format!("stage {}: {}", stage + 1, title(topology, stage));
        out.push_str(&text(x + 10, y + 18, "s", &label));
    }
    for edge in &layout.edges {
        let (class, head) = if edge.shuffled { (" class=\"key\"", "b") } else { ("", "a") };
        out.push_str(&format!("<path{class} d=\"{}\" marker-end=\"url(#{head})\"/>\n", curve(&edge.points)));
        if let (true, [.., before, last]) = (edge.shuffled, edge.points.as_slice()) {
            // Beside the line where it leaves, which is upright there.
            let at = if before.0 == last.0 { (before.1 + last.1) / 2 + 4 } else { before.1 + 14 };
            out.push_str(&text(before.0 + 8, at, "b", "by key"));
        }
    }
    layout.boxes.iter().for_each(|placed| out.push_str(&boxed(placed)));
    out.push_str(&legend);
    out.push_str("</svg>\n");
    out
}

struct Heading {
    svg: String,
    width: i32,
}

/// The job's name, and the first line of what it says of itself.
fn heading(topology: &Topology) -> Heading {
    let about = topology.doc.trim().lines().next().unwrap_or_default();
    let name = format!("job {}", topology.job);
    let svg = text(14, 24, "h", &name) + &text(14, 24 + LINE, "", about);
    Heading { svg, width: CHAR * chars(about).max(chars(&name)) }
}

fn boxed(placed: &Placed) -> String {
    let Placed { x, y, width, height, .. } = *placed;
    let kind = match (placed.is_port, placed.keeps.is_some()) {
        (true, _) => "port",
        (_, true) => "state",
        _ => "op",
    };
    let impure = if placed.impure.is_some() { " impure" } else { "" };
    let radius = if placed.is_port { height / 2 } else { 4 };
    let mut out = format!(
        "<rect class=\"{kind}{impure}\" x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" rx=\"{radius}\"/>\n"
    );
    for (line, (class, words)) in placed.lines().into_iter().enumerate() {
        let at = y + 17 + LINE * i32::try_from(line).unwrap_or(0);
        let indent = if placed.is_port { height / 2 - 4 } else { 8 };
        out.push_str(&text(x + indent, at, class, &words));
    }
    out
}

/// Straight down where it can be, else a curve that leaves and arrives upright.
fn curve(points: &[(i32, i32)]) -> String {
    let mut out = String::new();
    for (number, &(x, y)) in points.iter().enumerate() {
        match number.checked_sub(1).and_then(|before| points.get(before)) {
            None => out.push_str(&format!("M{x} {y}")),
            Some(&(from_x, _)) if from_x == x => out.push_str(&format!(" L{x} {y}")),
            Some(&(from_x, from_y)) => {
                let middle = (from_y + y) / 2;
                out.push_str(&format!(" C{from_x} {middle} {x} {middle} {x} {y}"));
            }
        }
    }
    out
}

fn arrow(id: &str, color: &str) -> String {
    format!(
        "<marker id=\"{id}\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerUnits=\"userSpaceOnUse\" markerWidth=\"9\" markerHeight=\"9\" orient=\"auto\"><path d=\"M0 0L8 4L0 8z\" style=\"fill:{color};stroke:none\"/></marker>"
    )
}

/// Each entry takes so much room.
const LEGEND_WIDTH: i32 = 760;

fn legend(y: i32) -> String {
    let mut out = String::new();
    let mut entry = |x: i32, class: &str, radius: i32, words: &str| {
        out.push_str(&format!(
            "<rect class=\"{class}\" x=\"{x}\" y=\"{}\" width=\"26\" height=\"16\" rx=\"{radius}\"/>\n",
            y + 18
        ));
        out.push_str(&text(x + 32, y + 30, "", words));
    };
    entry(14, "port", 8, "port");
    entry(94, "op", 4, "looks at one record");
    entry(270, "state", 4, "keeps state");
    out.push_str(&format!("<path class=\"key\" d=\"M394 {0} L424 {0}\" marker-end=\"url(#b)\"/>\n", y + 26));
    out.push_str(&text(432, y + 30, "", "all records of a key to one machine"));
    out
}

fn text(x: i32, y: i32, class: &str, words: &str) -> String {
    let class = if class.is_empty() { String::new() } else { format!(" class=\"{class}\"") };
    format!("<text{class} x=\"{x}\" y=\"{y}\" xml:space=\"preserve\">{}</text>\n", escaped(words))
}

fn chars(text: &str) -> i32 {
    i32::try_from(text.chars().count()).unwrap_or(i32::MAX / CHAR / 2)
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
