"""Files of other kinds: npy, raw, csv, HDF5, netCDF and TIFF, as sources and as targets."""

from omnizarr.tools.files.exporting import export_file
from omnizarr.tools.files.importing import import_file, read_npy
from omnizarr.tools.files.kinds import FileResult

__all__ = ["FileResult", "export_file", "import_file", "read_npy"]
