// Two sets of colours; the terminal is dark unless the person says otherwise.

import type { ITheme } from "@xterm/xterm";

export const DARK: ITheme = {
  background: "#0e1116", foreground: "#e9ecf2", cursor: "#e9ecf2", cursorAccent: "#0e1116",
  selectionBackground: "#3b4a7a", selectionInactiveBackground: "#2b3350",
  black: "#3b4451", red: "#ff9a94", green: "#74d39b", yellow: "#efbe62", blue: "#9fb0ff", magenta: "#f19fe0", cyan: "#66cadc", white: "#d5dae2",
  brightBlack: "#929dac", brightRed: "#ffb8b3", brightGreen: "#9be3b8", brightYellow: "#f6d595", brightBlue: "#c0cbff", brightMagenta: "#f7c2ec", brightCyan: "#98dde9", brightWhite: "#ffffff",
};

export const LIGHT: ITheme = {
  background: "#ffffff", foreground: "#151a22", cursor: "#151a22", cursorAccent: "#ffffff",
  selectionBackground: "#c3ccf5", selectionInactiveBackground: "#dde2f3",
  black: "#151a22", red: "#b01f2b", green: "#14673a", yellow: "#7a4b00", blue: "#3348c4", magenta: "#86206f", cyan: "#075f73", white: "#5c6675",
  brightBlack: "#454e5c", brightRed: "#8c1721", brightGreen: "#0d4f2b", brightYellow: "#5e3a00", brightBlue: "#2436a0", brightMagenta: "#6a1757", brightCyan: "#054757", brightWhite: "#2a313c",
};
