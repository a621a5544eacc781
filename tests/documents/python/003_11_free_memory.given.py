import numpy as np
import torch
