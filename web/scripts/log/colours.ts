// One line of a log with its colours (SGR); other escape sequences and control characters are left out, and
// characters that would steer the text around them are written out. The same rules as in src/code.rs.

const ESCAPES = /\u001b(?:\[([\u0020-\u003f]*)([\u0040-\u007e])?|[\]PX^_][^\u0007\u001b]*(?:\u0007|\u001b\\?)?|.)?/gsu;
const CONTROLS = /[\u0000-\u0008\u000a-\u001f\u007f-\u009f]/gu;
const STEERS = /[\u00ad\u061c\u180e\u115f\u1160\u3164\uffa0\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]/gu;

function plain(text: string): string {
  return text.replace(CONTROLS, "").replace(STEERS, (c) => `[U+${c.codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0")}]`);
}

export function colours(line: string, into: HTMLElement): void {
  let colour = 0;
  let bold = false;
  let from = 0;
  const put = (text: string) => {
    const shown = plain(text);
    if (!shown) return;
    if (colour === 0 && !bold) {
      into.append(shown);
      return;
    }
    const span = document.createElement("span");
    span.className = [colour ? `a${colour}` : "", bold ? "ab" : ""].join(" ").trim();
    span.textContent = shown;
    into.append(span);
  };
  for (const found of line.matchAll(ESCAPES)) {
    put(line.slice(from, found.index));
    from = found.index + found[0].length;
    if (found[2] !== "m") continue;
    const codes = (found[1] ?? "").split(";").map((code) => Number(code) || 0);
    for (let i = 0; i < codes.length; i++) {
      const code = codes[i]!;
      if (code === 0) [colour, bold] = [0, false];
      else if (code === 1) bold = true;
      else if (code === 22) bold = false;
      else if (code >= 31 && code <= 37) colour = code - 30;
      else if (code >= 91 && code <= 97) colour = code - 90;
      else if (code === 30 || code === 39 || code === 90) colour = 0;
      else if (code === 38 || code === 48) i += codes[i + 1] === 5 ? 2 : codes[i + 1] === 2 ? 4 : 0;
    }
  }
  put(line.slice(from));
}
