//! Lines of text as a picture: a bitmap of two colours with letters of three by five dots.

/// Dots of a letter's cell, and of one of its dots.
const CELL: (usize, usize) = (8, 14);
const DOT: usize = 2;
/// Letters of a line, and lines.
const COLUMNS: usize = 64;
const ROWS: usize = 18;
/// Bytes before the dots: two headers and two colours.
const HEAD: usize = 14 + 40 + 8;

/// Letters, their five rows from the top.
const LETTERS: [(char, [u8; 5]); 45] = [
    ('A', [2, 5, 7, 5, 5]),
    ('B', [6, 5, 6, 5, 6]),
    ('C', [3, 4, 4, 4, 3]),
    ('D', [6, 5, 5, 5, 6]),
    ('E', [7, 4, 6, 4, 7]),
    ('F', [7, 4, 6, 4, 4]),
    ('G', [3, 4, 5, 5, 3]),
    ('H', [5, 5, 7, 5, 5]),
    ('I', [7, 2, 2, 2, 7]),
    ('J', [1, 1, 1, 5, 2]),
    ('K', [5, 5, 6, 5, 5]),
    ('L', [4, 4, 4, 4, 7]),
    ('M', [5, 7, 7, 5, 5]),
    ('N', [6, 5, 5, 5, 5]),
    ('O', [2, 5, 5, 5, 2]),
    ('P', [6, 5, 6, 4, 4]),
    ('Q', [2, 5, 5, 6, 3]),
    ('R', [6, 5, 6, 5, 5]),
    ('S', [3, 4, 2, 1, 6]),
    ('T', [7, 2, 2, 2, 2]),
    ('U', [5, 5, 5, 5, 7]),
    ('V', [5, 5, 5, 5, 2]),
    ('W', [5, 5, 7, 7, 5]),
    ('X', [5, 5, 2, 5, 5]),
    ('Y', [5, 5, 2, 2, 2]),
    ('Z', [7, 1, 2, 4, 7]),
    ('0', [7, 5, 5, 5, 7]),
    ('1', [2, 6, 2, 2, 7]),
    ('2', [7, 1, 7, 4, 7]),
    ('3', [7, 1, 7, 1, 7]),
    ('4', [5, 5, 7, 1, 1]),
    ('5', [7, 4, 7, 1, 7]),
    ('6', [7, 4, 7, 5, 7]),
    ('7', [7, 1, 2, 2, 2]),
    ('8', [7, 5, 7, 5, 7]),
    ('9', [7, 5, 7, 1, 7]),
    ('-', [0, 0, 7, 0, 0]),
    ('.', [0, 0, 0, 0, 2]),
    (':', [0, 2, 0, 2, 0]),
    ('_', [0, 0, 0, 0, 7]),
    ('/', [1, 1, 2, 4, 4]),
    ('(', [2, 4, 4, 4, 2]),
    (')', [2, 1, 1, 1, 2]),
    ('+', [0, 2, 7, 2, 0]),
    ('#', [5, 7, 5, 7, 5]),
];

/// A bitmap (BMP, one bit for a dot) with these lines.
pub(super) fn picture(lines: &[String]) -> Vec<u8> {
    let (width, height) = (COLUMNS * CELL.0, ROWS * CELL.1);
    // A row is a whole number of four bytes: 512 dots are.
    let stride = width / 8;
    let mut out = head(width, height, stride * height);
    out.resize(HEAD + stride * height, 0);
    for (row, line) in lines.iter().take(ROWS).enumerate() {
        for (column, letter) in line.chars().take(COLUMNS).enumerate() {
            let Some(dots) = dots(letter) else { continue };
            for (dy, bits) in dots.into_iter().enumerate() {
                for dx in (0..3).filter(|dx| bits >> (2 - dx) & 1 == 1) {
                    for (ddx, ddy) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
                        let x = column * CELL.0 + dx * DOT + ddx;
                        let y = row * CELL.1 + 2 + dy * DOT + ddy;
                        // Rows go from the bottom up.
                        let at = HEAD + (height - 1 - y) * stride + x / 8;
                        if let Some(byte) = out.get_mut(at) {
                            *byte |= 0x80 >> (x % 8);
                        }
                    }
                }
            }
        }
    }
    out
}

fn dots(letter: char) -> Option<[u8; 5]> {
    let letter = letter.to_ascii_uppercase();
    LETTERS.iter().find(|(known, _)| *known == letter).map(|(_, dots)| *dots)
}

fn head(width: usize, height: usize, dots: usize) -> Vec<u8> {
    let number = |n: usize| u32::try_from(n).unwrap_or_default().to_le_bytes();
    let mut out = Vec::with_capacity(HEAD + dots);
    out.extend_from_slice(b"BM");
    for n in [HEAD + dots, 0, HEAD, 40, width, height] {
        out.extend_from_slice(&number(n));
    }
    // One plane, one bit for a dot.
    out.extend_from_slice(&[1, 0, 1, 0]);
    for n in [0, dots, 2835, 2835, 2, 2] {
        out.extend_from_slice(&number(n));
    }
    out.extend_from_slice(&[0, 0, 0, 0, 0xd0, 0xd0, 0xd0, 0]);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_is_as_long_as_it_says() {
        let picture = picture(&["Hello: 0".to_owned(), "ä".to_owned(), "x".repeat(500)]);
        let said = u32::from_le_bytes([picture[2], picture[3], picture[4], picture[5]]);
        assert_eq!(usize::try_from(said).unwrap(), picture.len());
        assert!(picture[HEAD..].iter().any(|byte| *byte != 0));
    }
}
