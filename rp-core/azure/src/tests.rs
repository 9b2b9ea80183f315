mod tries;
mod units;
