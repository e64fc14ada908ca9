"""Codecs that only zarrs (Rust) writes, under names of its own. Arrays with them can be read and changed, but omnizarr
creates none, because no other reader knows them. Each module is imported at first use."""
