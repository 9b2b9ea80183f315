//! audited
