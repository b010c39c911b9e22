//! Colours: a role for each drawn thing, on light and on dark paper.
//!
//! Every element carries the light colour as an attribute and its role as a class, so that a style sheet can
//! turn it dark and a program without style sheets still shows it.

/// Role of a colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// Text to be read first.
    Ink,
    /// Labels of axes.
    Muted,
    /// Lines of the grid.
    Grid,
    /// Background of everything.
    Paper,
    /// Lines across a chart with a meaning.
    Guide,
    /// Shade of a span of time.
    Band,
    /// A series, by its number.
    Series(usize),
    /// A cell of a heat map, from 0 for few to [`HEATS`] - 1 for many.
    Heat(usize),
}

/// Steps from few to many. They differ in lightness, so that they need no colour vision.
pub(crate) const HEATS: usize = 6;
const HEAT: [(Hex, Hex); HEATS] = [
    (0xd3e3fd, 0x1d2f4d),
    (0xa6c8fa, 0x234577),
    (0x74a6f2, 0x2f62a8),
    (0x4380df, 0x4a86d8),
    (0x1f59b5, 0x86b5f5),
    (0x0c3577, 0xd0e3ff),
];

/// Number of series with different colours. Further ones repeat the colours, in dashes.
pub(crate) const SERIES: usize = 8;

/// Colours of fixed roles. Contrast with the paper is at least 4.5 for text and 3 for lines, and neighbours
/// in the list differ in lightness too, for people who do not see the colours.
const FIXED: [(Role, &str, Hex, Hex); 6] = [
    (Role::Ink, "ink", 0x1b1f24, 0xe8eaed),
    (Role::Muted, "muted", 0x5b6571, 0xa3acb8),
    (Role::Grid, "grid", 0xe3e6ea, 0x2f353d),
    (Role::Paper, "paper", 0xffffff, 0x16191d),
    (Role::Guide, "guide", 0xb4232f, 0xff8a80),
    (Role::Band, "band", 0xf9d9da, 0x4d2327),
];
const COLOURS: [(Hex, Hex); SERIES] = [
    (0x1f6feb, 0x6cabff),
    (0xc75000, 0xff9d4d),
    (0x0b7a60, 0x3fcfa5),
    (0xa8328f, 0xf08bd9),
    (0x7d6200, 0xdcc04a),
    (0x5b41c9, 0xb3a1ff),
    (0x4d5966, 0xa9b7c6),
    (0x8a3b12, 0xe0a184),
];

type Hex = u32;

impl Role {
    fn entry(self) -> (String, Hex, Hex) {
        match self {
            Self::Series(n) => {
                let (light, dark) = COLOURS[n % SERIES];
                (format!("c{}", n % SERIES + 1), light, dark)
            }
            Self::Heat(n) => {
                let n = n.min(HEATS - 1);
                (format!("h{n}"), HEAT[n].0, HEAT[n].1)
            }
            fixed => {
                let found = FIXED.iter().find(|(role, ..)| *role == fixed).unwrap_or(&FIXED[0]);
                (found.1.to_owned(), found.2, found.3)
            }
        }
    }

    /// Attributes that fill with this colour.
    pub(super) fn fill(self) -> String {
        let (name, light, _) = self.entry();
        format!("class=\"f-{name}\" fill=\"#{light:06x}\"")
    }

    /// Attributes that draw lines in this colour.
    pub(super) fn stroke(self) -> String {
        let (name, light, _) = self.entry();
        format!("class=\"s-{name}\" stroke=\"#{light:06x}\"")
    }
}

/// Style sheet for charts on dark paper.
pub(crate) fn dark_css() -> String {
    let all = FIXED.iter().map(|(role, ..)| *role).chain((0..SERIES).map(Role::Series));
    let all = all.chain((0..HEATS).map(Role::Heat));
    let rules = all.map(|role| {
        let (name, _, dark) = role.entry();
        format!(".f-{name}{{fill:#{dark:06x}}}.s-{name}{{stroke:#{dark:06x}}}")
    });
    format!("@media screen and (prefers-color-scheme:dark){{{}}}", rules.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Contrast of two colours, by relative luminance as in WCAG 2,
    /// <https://www.w3.org/TR/WCAG21/#dfn-relative-luminance>.
    fn contrast(a: Hex, b: Hex) -> f64 {
        let luminance = |hex: Hex| {
            let [_, r, g, b] = hex.to_be_bytes().map(|c| {
                let c = f64::from(c) / 255.0;
                if c <= 0.04045 { c / 12.92 } else { ((c + 0.055) / 1.055).powf(2.4) }
            });
            0.2126 * r + 0.7152 * g + 0.0722 * b
        };
        let (a, b) = (luminance(a), luminance(b));
        (a.max(b) + 0.05) / (a.min(b) + 0.05)
    }

    #[test]
    fn what_is_read_stands_out_from_the_paper() {
        let (_, _, light, dark) = FIXED[3];
        for (role, _, on_light, on_dark) in FIXED {
            if matches!(role, Role::Ink | Role::Muted | Role::Guide) {
                assert!(contrast(on_light, light) >= 4.5 && contrast(on_dark, dark) >= 4.5);
            }
        }
        for (on_light, on_dark) in COLOURS {
            assert!(contrast(on_light, light) >= 4.5 && contrast(on_dark, dark) >= 4.5);
        }
    }
}
