declare module "d3-scale-chromatic";
