import torch
import numpy as np
