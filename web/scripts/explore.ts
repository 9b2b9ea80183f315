// Explorer and fleet query: editor, graphs, tables. Loaded on their pages only, after the first paint.

import { Fleet } from "./explore/fleet";
import { Explore } from "./explore/page";

const explore = document.querySelector<HTMLFormElement>("form#explore");
if (explore) new Explore(explore);
const fleet = document.querySelector<HTMLFormElement>("form#fleet");
if (fleet) new Fleet(fleet);
